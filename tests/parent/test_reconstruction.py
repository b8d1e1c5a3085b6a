"""The example of a reconstruction job: its conditions are shared, nothing is declared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.jobs import forkrun

CONFIG = Path(__file__).parents[2] / "configs" / "reconstruction" / "reconstruction.toml"
QUICK = ("unpack.params.ms=5", "clusters.params.ms=5", "tracks.params.seconds=0.02",
         "energy.params.seconds=0.02")  # fmt: skip


@pytest.mark.slow
def test_children_share_the_conditions_of_a_reconstruction(tmp_path: Path) -> None:
    sample, run = tmp_path / "raw.root", tmp_path / "run"
    forkrun("sample", sample, "--events", 48, "--lumis", 8, cwd=tmp_path)
    settings = [text for each in QUICK for text in ("--set", f"modules.{each}")]
    forkrun("run", CONFIG, sample, "--children", 4, "-o", run, *settings, cwd=tmp_path)
    report = json.loads((run / "report.json").read_text())
    assert report["events"]["n_events_read"] == 48
    assert len(list((run / "output" / "reconstructed").glob("*.root"))) == 16
    assert report["memory"]["saving_bytes"] > 3 * 250_000_000
    assert report["memory"]["peak"]["shared_bytes"] > 300_000_000
