"""Read a GPX track of a mountain hike: distance, climb, speed, breaks.

The track is generated, written as GPX and parsed as any device's file would be. The route is a closed loop,
so that what was climbed must have been descended, to the centimetre.
"""

import math
import xml.etree.ElementTree as ET
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

NAMESPACE = "http://www.topografix.com/GPX/1/1"
EARTH_RADIUS_KM = 6371.0
POINTS, RADIUS_KM = 360, 1.6


class Point(NamedTuple):
    lat: float
    lon: float
    height: float
    time: datetime


def record() -> str:
    """Return the GPX file of a walk around a summit, with a lunch break half-way."""
    gpx = ET.Element("gpx", xmlns=NAMESPACE, version="1.1", creator="examples")
    segment = ET.SubElement(ET.SubElement(gpx, "trk"), "trkseg")
    time = datetime(2024, 7, 20, 9, 0)
    for number in range(POINTS + 1):
        turn = 2 * math.pi * number / POINTS
        north, east = RADIUS_KM * math.sin(turn), RADIUS_KM * math.cos(turn)
        lat = 46.5 + math.degrees(north / EARTH_RADIUS_KM)
        lon = 8.0 + math.degrees(east / EARTH_RADIUS_KM / math.cos(math.radians(46.5)))
        point = ET.SubElement(segment, "trkpt", lat=f"{lat:.7f}", lon=f"{lon:.7f}")
        ET.SubElement(point, "ele").text = f"{1900 - 420 * math.cos(turn) + 25 * math.sin(5 * turn):.2f}"
        ET.SubElement(point, "time").text = time.isoformat() + "Z"
        time += timedelta(minutes=45) if number == POINTS // 2 else timedelta(seconds=36)
    return ET.tostring(gpx, encoding="unicode")


def distance_km(a: Point, b: Point) -> float:
    """Return the distance along the surface, by the haversine formula."""
    lat_a, lat_b = math.radians(a.lat), math.radians(b.lat)
    half = math.sin((lat_b - lat_a) / 2) ** 2
    half += math.cos(lat_a) * math.cos(lat_b) * math.sin(math.radians(b.lon - a.lon) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(half))


def main() -> None:
    points = []
    for node in ET.fromstring(record()).iter(f"{{{NAMESPACE}}}trkpt"):
        height, time = (node.findtext(f"{{{NAMESPACE}}}{name}", "") for name in ("ele", "time"))
        when = datetime.fromisoformat(time.removesuffix("Z"))
        points.append(Point(float(node.attrib["lat"]), float(node.attrib["lon"]), float(height), when))

    legs = list(pairwise(points))
    length = sum(distance_km(a, b) for a, b in legs)
    climb = sum(max(0.0, b.height - a.height) for a, b in legs)
    descent = sum(max(0.0, a.height - b.height) for a, b in legs)
    breaks = sum((b.time - a.time for a, b in legs if b.time - a.time > timedelta(minutes=5)), timedelta())
    walking = points[-1].time - points[0].time - breaks
    print(f"{len(points)} points, {length:.2f} km, {walking} walking, {breaks} resting")
    print(f"up {climb:.0f} m, down {descent:.0f} m, {length / (walking.total_seconds() / 3600):.1f} km/h\n")
    for point in points[::24]:
        print(f"{point.time:%H:%M} {point.height:>5.0f} m {'#' * round((point.height - 1400) / 22)}")

    if abs(length / (2 * math.pi * RADIUS_KM) - 1) > 0.001:
        raise SystemExit("the circle is not as long as its circumference")
    if abs(climb - descent) > 0.01:
        raise SystemExit("a closed loop must go up as much as down")


if __name__ == "__main__":
    main()
