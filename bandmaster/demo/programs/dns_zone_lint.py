"""Check a DNS zone file for mistakes that take a domain off the net.

Finds dangling and misused names, CNAMEs beside other records, missing glue, bad addresses and short TTLs. The
mistakes in the zone are known, and exactly those lines must be reported.
"""

import ipaddress
from collections import defaultdict
from typing import NamedTuple

ZONE = """\
@       3600  SOA    ns1 hostmaster 2024060301 7200 900 1209600 300
@       3600  NS     ns1
@       3600  NS     ns2
@       3600  MX     10 mail
@       3600  MX     20 backup-mail
@       3600  TXT    "v=spf1 mx -all"
ns1     3600  A      192.0.2.1
mail    3600  A      192.0.2.25
web     3600  A      192.0.2.80
web     3600  AAAA   2001:db8::80
web     5     A      192.0.2.81
blog    3600  CNAME  blog.hosting.example.
blog    3600  TXT    "verified"
shop    3600  A      192.0.2.300
api     3600  CNAME  gone
smtp    3600  CNAME  mail
@       3600  MX     30 smtp
"""
EXPECTED = {3, 5, 11, 12, 14, 15, 17}


class Record(NamedTuple):
    line: int
    name: str
    ttl: int
    kind: str
    data: list[str]


def lint(records: list[Record]) -> list[tuple[int, str]]:
    """Return (line, mistake), in the order of the file."""
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        kinds[record.name].add(record.kind)

    found = []
    for line, name, ttl, kind, data in records:
        if ttl < 60:
            found.append((line, f"{name}: a TTL of {ttl} s defeats every cache"))
        if kind in {"A", "AAAA"}:
            try:
                ipaddress.ip_address(data[0])
            except ValueError:
                found.append((line, f"{name}: {data[0]} is not an address"))
        if kind == "CNAME" and len(kinds[name]) > 1:
            found.append((line, f"{name}: a CNAME must be the only record of its name"))
        if kind in {"NS", "MX", "CNAME"} and not data[-1].endswith("."):  # a name within this zone
            if data[-1] not in kinds:
                found.append((line, f"{kind} points at {data[-1]}, which does not exist"))
            elif kind != "CNAME" and "CNAME" in kinds[data[-1]]:
                found.append((line, f"{kind} points at {data[-1]}, which is only an alias"))
    return found


def main() -> None:
    records = []
    for number, text in enumerate(ZONE.splitlines(), start=1):
        name, ttl, kind, *data = text.split()
        records.append(Record(number, name, int(ttl), kind, data))
    found = lint(records)
    for line, mistake in found:
        print(f"line {line:>2}  {mistake}")
    print(f"\n{len(records)} records, {len({record.name for record in records})} names, {len(found)} mistakes")
    if {line for line, _ in found} != EXPECTED:
        raise SystemExit(f"expected mistakes on lines {sorted(EXPECTED)}")


if __name__ == "__main__":
    main()
