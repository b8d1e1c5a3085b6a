"""What all studies of `forkrun measure` share: load of others, repeats, one JSON form, one plot."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from forkrun.cli.studies.measure import finish_study
from forkrun.errors import NOT_CONCLUSIVE
from forkrun.monitoring.tables import Column
from forkrun.studies.frame.machine import LoadWatch, OtherLoad, busy_s
from forkrun.studies.frame.repeats import Repeated, Row, measure_ways
from forkrun.studies.frame.study import VALUES, WORKS, Curve, Figure, Plot, Study

STAT = """cpu  1000 0 500 9000 100 0 10 5 0 0
cpu0 400 0 200 4000 50 0 10 5 300 0
cpu1 600 0 300 5000 50 0 0 0 0 0
intr 12345 0
ctxt 99
"""


def study(load: OtherLoad) -> Study:
    return Study(
        "io", "job", [Column("size", "read size", "size"), Column("s", "time", "time")],
        {"N = 1": Row("N = 1", {"size": Repeated((25e3,)), "s": Repeated((1.0, 1.2, 1.1))})},
        load, ["reads of N = 1 are small"], ["the cache was warm"],
        [Figure.of("P1.9", "size of a read, N = 1", 50e3)],
        Plot("reads", "job", "N", "size [B]",
             [Curve("ours", [(1, 25e3), (10, 30e3, 0.1)]), Curve("2010", [(1, 25e3)], theirs=True)],
             x_log=10),
    )  # fmt: skip


def finish(load: OtherLoad, folder: Path) -> int:
    options = argparse.Namespace(json=folder / "s.json", plot=folder / "s.svg")
    return finish_study(study(load), options)


def test_time_that_cpus_spent_is_that_of_their_lines_without_idling_and_guests() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    assert busy_s(STAT, {1}) == 900 / ticks
    assert busy_s(STAT, {0, 1}) == (615 + 900) / ticks


def test_a_machine_is_busy_whoever_used_it_before_or_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu0 0 0 0 0 0 0 0 0 0 0\n")
    assert LoadWatch(tmp_path, before_s=0).end().is_quiet
    assert OtherLoad(0.1, 0.0, 2).is_quiet
    assert not OtherLoad(0.11, 0.0, 2).is_quiet
    assert not OtherLoad(0.0, 0.11, 2).is_quiet


def test_ways_take_turns_and_the_median_counts() -> None:
    called: list[str] = []

    def way(name: str) -> Mapping[str, float]:
        called.append(name)
        return {"time": float(len(called))}

    rows, load = measure_ways({name: partial(way, name) for name in "ab"}, 3, quiet=True)
    assert called == ["a", "b", "a", "b", "a", "b"]
    assert [row.values["time"] for row in rows.values()] == [
        Repeated((1, 3, 5)),
        Repeated((2, 4, 6)),
    ]
    assert (rows["b"]["time"], rows["a"].values["time"].noise) == (4, 4 / 3)
    assert load.n_cpus == len(os.sched_getaffinity(0))


def test_a_quiet_machine_allows_conclusions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finish(OtherLoad(0.0, 0.01, 2), tmp_path) == 0
    out = capsys.readouterr().out
    assert "reads of N = 1 are small" in out
    assert "published 25.0 kB, here 50.0 kB" in out
    assert "1.1 s ± 9 %" in out
    found = json.loads((tmp_path / "s.json").read_text())
    assert found["rows"] == [
        {
            "name": "N = 1",
            "size": {"value": 25e3, "noise": 0, "repeats": [25e3]},
            "s": {"value": 1.1, "noise": pytest.approx(0.2 / 1.1), "repeats": [1.0, 1.2, 1.1]},
        }
    ]
    assert found["figures"] == [
        {"line": "P1.9", "name": "size of a read, N = 1", "value": 25e3, "unit": "B", "ours": 50e3,
         "ratio": 2}
    ]  # fmt: skip
    assert found["conclusions"] == ["reads of N = 1 are small"]
    drawn = (tmp_path / "s.svg").read_text()
    assert "2010" in drawn
    assert "not conclusive" not in drawn


def test_a_busy_machine_gives_figures_without_conclusions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finish(OtherLoad(0.0, 0.9, 2), tmp_path) == NOT_CONCLUSIVE == 12
    out = capsys.readouterr().out
    assert "reads of N = 1 are small" not in out
    assert "25.0 kB" in out
    assert "the cache was warm" in out
    assert "not conclusive: other programs used 0.00 of 2 CPUs before it, and 0.90 during" in out
    found = json.loads((tmp_path / "s.json").read_text())
    assert (found["is_conclusive"], found["conclusions"]) == (False, [])
    assert "not conclusive" in (tmp_path / "s.svg").read_text()


def test_published_values_have_a_line_and_a_name_of_their_own() -> None:
    names = [(each.line, each.name) for each in VALUES]
    assert len(set(names)) == len(names)
    assert {each.line.partition(".")[0] for each in VALUES} == {*WORKS}
