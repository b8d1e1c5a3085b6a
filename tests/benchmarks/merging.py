"""(c) Merging 100 files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from compile import root_folder
from timing import Result, measure, timed

from forkrun import _core

IDS = ("Events", "run", "luminosityBlock", "event")


def run(name: str, inputs: Sequence[Path], folder: Path, repeats: int) -> Result:
    """Whole processes: `forkrun merge` against `hadd -ff`, both copying baskets as they are."""
    ours, theirs = folder / "forkrun-merged.root", folder / "hadd-merged.root"
    forkrun = [sys.executable, "-m", "forkrun", "merge", ours, *inputs, "--force", "--quiet"]
    hadd = [root_folder() / "bin" / "hadd", "-ff", "-f", theirs, *inputs]
    times = measure(
        {
            "forkrun merge": lambda: timed(lambda: _run(forkrun)),
            "hadd -ff": lambda: timed(lambda: _run(hadd)),
        },
        repeats,
    )
    one, other = (_core.tree_digest(str(path), IDS[0], IDS[1:]) for path in (ours, theirs))
    if one != other:
        raise SystemExit(f"{name}: the merged files hold different events")
    notes = {
        "same events": one.count,
        "bytes": {"forkrun": ours.stat().st_size, "hadd": theirs.stat().st_size},
    }
    return Result(f"(c) merge of {len(inputs)} files, {name}", "hadd -ff", times, notes)


def _run(command: Sequence[object]) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
