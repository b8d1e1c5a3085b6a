"""What the command lines of benchmarks with several cases have in common."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timing import Result


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


def report(results: Sequence[Result], path: Path) -> None:
    """Says where they were measured, and writes them as JSON."""
    from forkrun.monitoring.host import describe_host  # some benchmarks prepare its import

    host = describe_host()
    print(f"\n{host['n_cpus']} × {host['cpu']} · {host['kernel']} · {host['versions']}\n")
    write_figures(path, {"host": host, "results": [result.to_json() for result in results]})
    print(f"A ratio above 1 means that forkrun is faster. All figures: {path}")


def write_figures(path: Path, figures: dict[str, Any]) -> None:
    """As JSON; makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(figures, indent=1, default=str) + "\n", encoding="utf-8")
