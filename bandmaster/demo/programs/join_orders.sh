#!/bin/sh
# Join customers with their orders and list who bought what, and who nothing.
#
# Does with sort, join and awk what a database would do: inner join, group by, anti-join. The grand total must
# be that of the order file.
set -eu
LC_ALL=C
export LC_ALL

sort -t, -k1,1 >customers.csv <<'END'
c07,Anna Berg,Oslo
c02,Benoit Roux,Lyon
c05,Chiara Conti,Turin
c01,Dmitri Pavlov,Riga
c03,Emma Nilsen,Oslo
c09,Farid Haddad,Lyon
END

sort -t, -k2,2 >orders.csv <<'END'
1001,c01,bicycle,899.00
1002,c07,helmet,59.90
1003,c07,lock,34.50
1004,c03,bicycle,1249.00
1005,c02,lamp,24.95
1006,c01,lock,34.50
1007,c03,pump,18.75
1008,c42,bell,9.90
1009,c02,panniers,129.00
END

join -t, -1 1 -2 2 -o 1.2,1.3,2.3,2.4 customers.csv orders.csv >sold.csv

echo "customer         city     orders      total"
awk -F, '
    { orders[$1]++; total[$1] += $4; city[$1] = $2 }
    END { for (name in total) printf "%-17s%-9s%6d %10.2f\n", name, city[name], orders[name], total[name] }
' sold.csv | sort

echo
echo "revenue by city"
awk -F, '{ total[$2] += $4 } END { for (city in total) printf "%10.2f  %s\n", total[city], city }' sold.csv | sort -nr

echo
echo "without an order: $(join -t, -v 1 -1 1 -2 2 -o 1.2 customers.csv orders.csv | paste -s -d, - | sed 's/,/, /g')"
orphans=$(join -t, -v 2 -1 1 -2 2 -o 2.1,2.2,2.4 customers.csv orders.csv)
echo "order of an unknown customer: $orphans"

# in cents, so that whole numbers are compared
matched=$(awk -F, '{ sum += $4 * 100 } END { printf "%.0f", sum }' sold.csv)
unmatched=$(echo "$orphans" | awk -F, '{ sum += $3 * 100 } END { printf "%.0f", sum }')
all=$(awk -F, '{ sum += $4 * 100 } END { printf "%.0f", sum }' orders.csv)
if [ $((matched + unmatched)) -ne "$all" ]; then
    echo "the joins lost money: $matched + $unmatched is not $all" >&2
    exit 1
fi
