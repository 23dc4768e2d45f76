#!/bin/sh
# Work out in which order to build a project's packages, and spot a cycle.
#
# Sorts the dependencies topologically with tsort, then checks with awk that every package comes after all that
# it needs.
set -eu

cat >needs <<'END'
app: web worker config
web: http templates auth
worker: queue mail
auth: database crypto
queue: database
mail: templates smtp
http: sockets
smtp: sockets crypto
database: config
config: files
templates: files
crypto: files
sockets: files
END

# tsort wants pairs "first then"
awk -F: '{ n = split($2, parts, " "); for (i = 1; i <= n; i++) print parts[i], $1 }' needs >pairs
tsort pairs >order

echo "$(wc -l <order | tr -d ' ') packages, $(wc -l <pairs | tr -d ' ') dependencies"
echo
awk '
    FILENAME == "pairs" { needs[$2] = needs[$2] " " $1; next }
    {
        # a package can be built in the wave after the last of those it needs
        wave[$1] = 1
        n = split(needs[$1], parts, " ")
        for (i = 1; i <= n; i++) {
            if (!(parts[i] in wave)) {
                print $1 " comes before " parts[i]
                bad = 1
            } else if (wave[parts[i]] >= wave[$1]) {
                wave[$1] = wave[parts[i]] + 1
            }
        }
        names[wave[$1]] = names[wave[$1]] " " $1
        if (wave[$1] > last) last = wave[$1]
    }
    END {
        for (w = 1; w <= last; w++) print "wave " w ":" names[w]
        exit bad
    }
' pairs order

echo
complaint=$( (cat pairs && echo "app files") | tsort 2>&1 >/dev/null || true)
if [ -z "$complaint" ]; then
    echo "tsort did not notice a cycle" >&2
    exit 1
fi
echo "making files depend on app is refused: that would be a cycle"
