#!/bin/sh
# Back up a folder every night, keep the newest four backups, restore the last one.
#
# Simulates a week of changes. Each archive is verified before an old one is deleted, and the restored folder
# must have the same checksums as the original.
set -eu

mkdir -p site/pages backups

checksums() { # of every file below folder $1
    (cd "$1" && find . -type f | sort | while IFS= read -r file; do cksum "$file"; done)
}

day=1
while [ "$day" -le 7 ]; do
    # the day's work: a new page, a longer log
    awk -v day="$day" 'BEGIN { for (i = 0; i < 400; i++) print "day", day, "paragraph", i, (i * day * 7919) % 1000 }' \
        >"site/pages/day$day.txt"
    echo "published day $day" >>site/publish.log

    archive="backups/site-2024-06-0$day.tar.gz"
    tar -cf - site | gzip -9 >"$archive"
    if ! gzip -t "$archive"; then
        echo "$archive is damaged" >&2
        exit 1
    fi

    # keep the newest four
    ls backups | sort -r | tail -n +5 | while IFS= read -r old; do
        rm "backups/$old"
        echo "night $day: removed $old"
    done
    day=$((day + 1))
done

echo
for archive in backups/*; do
    printf '%s  %6d bytes  %d files\n' "$archive" "$(wc -c <"$archive")" "$(gzip -dc "$archive" | tar -tf - | grep -vc '/$')"
done

mkdir restored
gzip -dc backups/site-2024-06-07.tar.gz | (cd restored && tar -xf -)
checksums site >expected
checksums restored/site >actual
echo
if ! cmp expected actual >&2; then
    echo "the restored folder differs from the original" >&2
    exit 1
fi
if [ "$(ls backups | wc -l)" -ne 4 ]; then
    echo "not four backups were kept" >&2
    exit 1
fi
echo "restored $(wc -l <actual | tr -d ' ') files, all checksums equal"
