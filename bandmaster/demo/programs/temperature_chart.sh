#!/bin/sh
# Turn a year of hourly temperatures into a monthly table with a chart.
#
# 8,760 measurements go through gzip, as a weather station delivers them. Minimum and maximum found by awk must
# be those found by sort.
set -eu
LC_ALL=C
export LC_ALL

awk 'BEGIN {
    split("31 28 31 30 31 30 31 31 30 31 30 31", days, " ")
    pi = atan2(0, -1)
    seed = 1850
    hour = 0
    for (month = 1; month <= 12; month++)
        for (day = 1; day <= days[month]; day++)
            for (h = 0; h < 24; h++) {
                seed = (seed * 16807) % 2147483647
                season = -9 * cos(2 * pi * (hour - 480) / 8760)
                daily = -3.5 * cos(2 * pi * (h - 3) / 24)
                noise = (seed / 2147483647 - 0.5) * 7
                printf "2023-%02d-%02dT%02d:00 %.1f\n", month, day, h, 10 + season + daily + noise
                hour++
            }
}' | gzip >station.gz

gzip -dc station.gz >measurements
echo "$(wc -l <measurements | tr -d ' ') measurements, $(wc -c <station.gz | tr -d ' ') bytes compressed"
echo
echo "month      min   mean    max"
awk '
    {
        month = substr($1, 1, 7)
        if (!(month in count)) { low[month] = high[month] = $2; order[++months] = month }
        if ($2 + 0 < low[month] + 0) low[month] = $2
        if ($2 + 0 > high[month] + 0) high[month] = $2
        sum[month] += $2
        count[month]++
    }
    END {
        for (i = 1; i <= months; i++) {
            month = order[i]
            from = int(low[month]) + 12
            to = int(high[month]) + 12
            bar = ""
            for (c = 0; c <= to; c++) bar = bar (c < from ? " " : "=")
            printf "%s %6.1f %6.1f %6.1f  %s\n", month, low[month], sum[month] / count[month], high[month], bar
        }
    }
' measurements | tee table

sort -k2,2n measurements >by_temperature
coldest=$(head -n 1 by_temperature)
warmest=$(tail -n 1 by_temperature)
echo
echo "coldest: $coldest, warmest: $warmest"
extremes=$(awk 'NR == 1 { low = $2; high = $4 } { if ($2 + 0 < low + 0) low = $2; if ($4 + 0 > high + 0) high = $4 }
    END { print low, high }' table)
if [ "$extremes" != "${coldest#* } ${warmest#* }" ] || [ "$(wc -l <measurements)" -ne 8760 ]; then
    echo "awk found $extremes, sort ${coldest#* } ${warmest#* }" >&2
    exit 1
fi
