"""Draw a bar chart of a city's rainfall as SVG.

Writes the chart, reads it back as XML and measures the bars: their heights must be in proportion to the
figures.
"""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
RAIN_MM = [161, 121, 124, 111, 104, 128, 148, 184, 248, 253, 227, 229]  # Bergen, averages
WIDTH, HEIGHT, MARGIN = 720, 360, 40
SVG = "http://www.w3.org/2000/svg"


def draw() -> ET.ElementTree:
    """Return the chart, with a line and a label every 50 mm."""
    top = math.ceil(max(RAIN_MM) / 50) * 50
    scale = (HEIGHT - 2 * MARGIN) / top
    svg = ET.Element("svg", xmlns=SVG, viewBox=f"0 0 {WIDTH} {HEIGHT}")
    svg.set("font-family", "sans-serif")
    svg.set("font-size", "12")
    ET.SubElement(svg, "title").text = "Rainfall in Bergen, mm a month"
    for level in range(0, top + 1, 50):
        y = f"{HEIGHT - MARGIN - level * scale:.1f}"
        ET.SubElement(svg, "line", x1=str(MARGIN), x2=str(WIDTH - MARGIN), y1=y, y2=y, stroke="#ccc")
        ET.SubElement(svg, "text", x="8", y=y).text = str(level)
    step = (WIDTH - 2 * MARGIN) / len(MONTHS)
    for number, (month, rain) in enumerate(zip(MONTHS, RAIN_MM, strict=True)):
        x, height = MARGIN + number * step, rain * scale
        bar = ET.SubElement(svg, "rect", x=f"{x + 6:.1f}", y=f"{HEIGHT - MARGIN - height:.1f}", fill="#2a6f97")
        bar.set("width", f"{step - 12:.1f}")
        bar.set("height", f"{height:.1f}")
        ET.SubElement(bar, "title").text = f"{month}: {rain} mm"
        ET.SubElement(svg, "text", x=f"{x + step / 2 - 10:.1f}", y=str(HEIGHT - MARGIN + 18)).text = month
    return ET.ElementTree(svg)


def main() -> None:
    file = Path("rainfall.svg")
    chart = draw()
    ET.indent(chart)
    chart.write(file, encoding="utf-8", xml_declaration=True)

    bars = ET.parse(file).getroot().findall(f"{{{SVG}}}rect")
    heights = [float(bar.attrib["height"]) for bar in bars]
    measured = [height / sum(heights) * sum(RAIN_MM) for height in heights]
    for month, rain, height in zip(MONTHS, RAIN_MM, measured, strict=True):
        print(f"{month}  {rain:>4} mm  {'#' * round(rain / 6)}")
        if abs(height - rain) > 0.5:
            raise SystemExit(f"{month}: the bar shows {height:.1f} mm")
    print(f"\n{file}: {len(bars)} bars, {file.stat().st_size:,} bytes; {sum(RAIN_MM):,} mm a year")


if __name__ == "__main__":
    main()
