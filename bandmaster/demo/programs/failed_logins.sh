#!/bin/sh
# Find the addresses that try to guess passwords, in a server's auth log.
#
# Counts failed logins by address and user and proposes firewall rules. Two tools count the same thing in two
# ways, and must agree.
set -eu

# A day's log, from a small pseudo-random generator that gives the same numbers everywhere.
awk 'BEGIN {
    split("root admin test oracle postgres git", users, " ")
    seed = 4711
    for (i = 0; i < 3000; i++) {
        seed = (seed * 16807) % 2147483647
        second = int(i * 86400 / 3000)
        stamp = sprintf("Jun  3 %02d:%02d:%02d", int(second / 3600), int(second / 60) % 60, second % 60)
        if (seed % 10 < 3) {
            printf "%s host sshd[%d]: Accepted publickey for deploy from 192.0.2.%d port 22\n", stamp, 900 + i, 10 + seed % 3
        } else {
            octet = (seed % 7 < 4) ? 66 : (seed % 7 < 6) ? 99 : seed % 250
            printf "%s host sshd[%d]: Failed password for %s from 203.0.113.%d port 22\n", \
                stamp, 900 + i, users[1 + int(seed / 1000) % 6], octet
        }
    }
}' >auth.log

failed=$(grep -c 'Failed password' auth.log)
accepted=$(grep -c 'Accepted' auth.log)
echo "$(wc -l <auth.log | tr -d ' ') lines: $failed failed logins, $accepted accepted"

echo
echo "most failures by address"
sed -n 's/.*Failed password for .* from \([0-9.]*\) .*/\1/p' auth.log |
    sort | uniq -c | sort -k1,1nr -k2,2 >by_address
head -n 5 by_address

echo
echo "names that were tried"
awk '/Failed/ { tried[$9]++ } END { for (user in tried) printf "%7d %s\n", tried[user], user }' auth.log |
    sort -k1,1nr -k2,2

echo
echo "proposed rules"
awk '$1 > 100 { print "deny from " $2 "   # " $1 " attempts" }' by_address

summed=$(awk '{ sum += $1 } END { print sum + 0 }' by_address)
if [ "$summed" -ne "$failed" ] || [ $((failed + accepted)) -ne 3000 ]; then
    echo "the counts disagree: $summed, $failed, $accepted" >&2
    exit 1
fi
