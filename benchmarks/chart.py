"""Draws the README's chart: one group of bars per figure, medians with minimum and maximum, and the machine.

The output is a small SVG without any library. Bars of a group share a scale, groups do not. It has its own background,
so it looks the same on a light and on a dark page.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from .machine import Machine
from .question import Figure
from .results import Answer, Spread
from .table import shown

WIDTH: Final = 960
LABELS: Final = 330
BARS: Final = 470
MARGIN: Final = 24
BAR: Final = 16
ROW: Final = 22
TITLE: Final = 30
GAP: Final = 14
BACKGROUND, INK, FAINT = "#ffffff", "#1f2933", "#7b8794"
OURS, OTHERS = "#0b7285", "#adb5bd"
FONT: Final = "font-family='system-ui, sans-serif'"


def draw(machine: Machine, answers: Sequence[Answer]) -> str:
    """Draw the chart of all charted figures."""
    parts: list[str] = []
    y = MARGIN
    for answer in answers:
        for figure in answer.question.figures:
            if figure.charted:
                group, y = _group(answer, figure, y)
                parts += group
    for line in _wrapped(str(machine)):
        y += 18
        parts.append(_text(MARGIN, y, line, size=11, colour=FAINT))
    height = y + MARGIN
    opening = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' role='img' {FONT}>"
    title = "<title>Bandmaster beside bare Dramatiq: medians, with least and most</title>"
    ground = f"<rect width='{WIDTH}' height='{height}' fill='{BACKGROUND}'/>"
    return "\n".join([opening, title, ground, *parts, "</svg>"]) + "\n"


def _group(answer: Answer, figure: Figure, y: int) -> tuple[list[str], int]:
    question = answer.question
    better = "more" if figure.unit == "1/s" else "less"
    heading = f"{question.asks}  ({figure.name}, {figure.unit}; {better} is better)"
    parts = [_text(MARGIN, y + 16, heading, size=13, weight=600)]
    y += TITLE
    spreads = [(side, spread) for side in question.sides if (spread := answer.spread(side, figure.name)) is not None]
    most = max(max(spread.values) for _, spread in spreads)
    first = question.sides[0]
    for side, spread in spreads:
        ratio = None if side == first else answer.ratio(side, figure.name, first)
        parts += _bar(side, spread, most, y, f"  ({ratio.median:.2g} ×)" if ratio else "", ours=side != first)
        y += ROW
    return parts, y + GAP


def _bar(side: str, spread: Spread, most: float, y: int, suffix: str, *, ours: bool) -> list[str]:
    def place(value: float) -> float:
        return round(LABELS + BARS * value / most, 1)

    middle, low, high = y + BAR / 2, place(min(spread.values)), place(max(spread.values))
    width = max(1.0, round(place(spread.median) - LABELS, 1))
    whisker = f"M{low} {middle} H{high} M{low} {y + 4} V{y + 12} M{high} {y + 4} V{y + 12}"
    colour = OURS if ours and not side.startswith("bare") else OTHERS
    return [
        _text(LABELS - 8, y + 12, side, size=12, anchor="end"),
        f"<rect x='{LABELS}' y='{y}' width='{width}' height='{BAR}' fill='{colour}'/>",
        f"<path d='{whisker}' stroke='{INK}' fill='none'/>",
        _text(high + 8, y + 12, f"{shown(spread.median)}{suffix}", size=12),
    ]


def _text(
    x: float, y: float, text: str, *, size: int, weight: int = 400, anchor: str = "start", colour: str = INK
) -> str:
    return (
        f"<text x='{x}' y='{y}' font-size='{size}' font-weight='{weight}' text-anchor='{anchor}' fill='{colour}'>"
        f"{escape(text)}</text>"
    )


def _wrapped(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]
