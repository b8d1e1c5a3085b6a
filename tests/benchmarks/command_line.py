"""What the command lines of benchmarks with several cases have in common."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def parse(parser: argparse.ArgumentParser, cases: Iterable[str], figures: str) -> Any:
    """Adds CASE …, --folder and --json, and parses. `figures`: of the file in build/bench."""
    known = list(cases)
    parser.add_argument("cases", nargs="*", default=known, metavar="CASE", help=", ".join(known))
    parser.add_argument("--folder", type=Path, help="for samples and outputs (default: /tmp)")
    parser.add_argument("--json", type=Path, default=Path("build/bench", figures))
    args = parser.parse_args()
    if unknown := sorted(set(args.cases) - set(known)):
        parser.error(f"no such case: {', '.join(unknown)}")
    return args


def write_figures(path: Path, figures: dict[str, Any]) -> None:
    """As JSON; makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=1, default=str) + "\n", encoding="utf-8")
