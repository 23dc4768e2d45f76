#!/bin/sh
# Sort a folder of photos into years and months, without duplicates.
#
# Reads the date from each name, as cameras and phones write it, and recognises copies by their checksum. No
# picture may be lost: every checksum from before must still be there afterwards.
set -eu
LC_ALL=C
export LC_ALL

mkdir inbox album
number=0
for name in IMG_20230714_101500 IMG_20230714_101733 IMG_20231224_180210 PXL_20240210_090001 PXL_20240210_090507 \
    IMG_20240601_121212 PXL_20240619_201544 IMG_20240619_201558 DSC_0042 scan; do
    number=$((number + 1))
    awk -v n="$number" 'BEGIN { for (i = 0; i < 200 + n * 10; i++) print "pixel", i, (i * n * 31) % 255 }' >"inbox/$name.jpg"
done
cp inbox/IMG_20230714_101500.jpg inbox/IMG_20230714_101500_copy.jpg
cp inbox/PXL_20240210_090507.jpg inbox/WhatsApp_20240211_1.jpg

sums() { # the distinct checksums of all files below folder $1
    find "$1" -type f -exec cksum {} + | awk '{ print $1 "-" $2 }' | sort -u
}

sums inbox >before
files=$(find inbox -type f | wc -l | tr -d ' ')
copies=0
: >seen
for photo in inbox/*; do
    sum=$(cksum <"$photo" | tr ' ' '-')
    if grep -qx -e "$sum" seen; then
        echo "a copy: ${photo#inbox/}"
        rm "$photo"
        copies=$((copies + 1))
        continue
    fi
    echo "$sum" >>seen
    folder=$(echo "$photo" | sed -n 's/.*_\(20[0-9][0-9]\)\([01][0-9]\)[0-3][0-9]_.*/\1\/\2/p')
    mkdir -p "album/${folder:-undated}"
    mv "$photo" "album/${folder:-undated}/"
done

echo
for folder in album/*/* album/undated; do
    if [ -d "$folder" ]; then
        echo "$(ls "$folder" | wc -l | tr -d ' ') in $folder"
    fi
done

sums album >after
echo
if ! cmp before after >&2; then
    echo "a picture was lost" >&2
    exit 1
fi
if [ $(($(wc -l <after) + copies)) -ne "$files" ]; then
    echo "pictures and copies do not add up" >&2
    exit 1
fi
echo "$files files: $(wc -l <after | tr -d ' ') pictures kept, $copies copies removed"
