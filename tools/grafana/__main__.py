"""Writes each dashboard into its file in `configs/grafana`. If it dies half-way, call it again."""

from pathlib import Path
from typing import Final

from .all_of_them import DASHBOARDS
from .dashboards import text_of

FOLDER: Final = Path(__file__).parents[2] / "configs" / "grafana"


def main() -> None:
    """Write them all."""
    for dashboard in DASHBOARDS:
        (FOLDER / f"{dashboard.name}.json").write_text(text_of(dashboard), encoding="utf-8")


if __name__ == "__main__":
    main()
