"""`forkrun measure distribution`: what it says of children, and with real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from forkrun.config.read import validate
from forkrun.errors import NOT_CONCLUSIVE
from forkrun.monitoring.records import RunRecords
from forkrun.monitoring.report.children import ChildSummary
from forkrun.studies import distribution
from forkrun.studies.frame.jobs import EndedJob
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job


def child(number: int, processing_s: float, read_bytes: int) -> ChildSummary:
    others: dict[str, Any] = dict.fromkeys(ChildSummary.__struct_fields__)
    return ChildSummary(
        **{
            **others, "child": number, "processing_s": processing_s, "first_event_s": 1.0,
            "end_s": 1.0 + processing_s, "read_bytes": read_bytes, "read_calls": 1, "n_events": 10,
        }
    )  # fmt: skip


def test_utilization_is_that_of_processing_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_way(_: Any, __: Path, settings: list[str]) -> EndedJob:
        is_guided = settings == ["forking.distribution=guided"]
        times = (2.0, 2.0) if is_guided else (4.0, 1.0)
        children = tuple(child(n, t, 300 if is_guided else 100) for n, t in enumerate(times))
        return EndedJob(RunRecords({}, "", {}), children, max(times))

    monkeypatch.setattr(distribution, "run_way", run_way)
    config = validate({"source": {"files": ["in.root"]}, "forking": {"children": 2}}, "job")
    found = distribution.measure_distribution(config, tmp_path, [1], 3, quiet=True)
    guided, whole = found.rows["guided"], found.rows["contiguous (N = max)"]
    assert (guided["utilization"], guided["dispersion"], guided["times"]) == (1, 0, 3)
    assert (whole["utilization"], whole["dispersion"]) == (5 / 4 / 2, 0.6)
    assert (whole["first_s"], whole["last_s"]) == (1, 4)
    assert found.details["processing_s"]["contiguous (N = max)"] == [4, 1]
    assert found.details["end_s"]["contiguous (N = max)"] == [5, 2]
    assert [(f.published.line, f.value) for f in found.figures] == [
        *[("P1.7", 0.625)] * 3, ("P1.8", 0.625), ("P1.8", 0.625)
    ]  # fmt: skip
    assert found.plot is not None
    assert found.plot.curves[2].points == [(1, 1), (2, 0.25)]


@pytest.mark.long
def test_real_children_are_compared_in_each_distribution(tmp_path: Path) -> None:
    file = write_events(tmp_path / "in.root", [(1, lumi, 60) for lumi in (1, 2, 3)])
    job = write_job(tmp_path, jets_job([file], forking={"children": 2}))
    options = ("--turns", 1, "--repeats", 1, "-q", "--json", "d.json", "--plot", "d.pdf")
    ended = forkrun("measure", "distribution", job, *options, cwd=tmp_path)
    assert ended.code in (0, NOT_CONCLUSIVE), ended.err
    found = json.loads((tmp_path / "d.json").read_text())
    names = ["guided", "lumi", "contiguous (N = max)", "round-robin, N = 1"]
    assert [row["name"] for row in found["rows"]] == names
    assert all(0 < row["utilization"]["value"] <= 1 for row in found["rows"])
    assert {len(times) for times in found["details"]["processing_s"].values()} == {2}
    assert (tmp_path / "d.pdf").exists()
