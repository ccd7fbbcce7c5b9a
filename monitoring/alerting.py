"""The alerts as one group of rules, for Prometheus and for the chart.

    python -m monitoring.alerting [--check]

Each alert is a file of `monitoring/alerts`, beside the runbook that its annotation names.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

ALERTS: Final = Path(__file__).parent / "alerts"
FILE: Final = Path(__file__).parents[1] / "charts" / "tidegate" / "files" / "alerts.yaml"


def text() -> str:
    """The file of rules, as Prometheus takes it."""
    lines = ["groups:", "  - name: tidegate", "    rules:"]
    for path in sorted(ALERTS.glob("*.yaml")):
        first, *rest = path.read_text().splitlines()
        lines += [f"      - {first}", *(f"        {line}" for line in rest)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes or compares."""
    if "--check" in sys.argv[1:]:
        if not FILE.exists() or FILE.read_text() != text():
            raise SystemExit("make chart: files/alerts.yaml must be made anew")
        return
    FILE.write_text(text())


if __name__ == "__main__":
    main()
