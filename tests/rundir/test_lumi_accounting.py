"""The lumi accounting of a job: exact sets of lumis, from what is on disk."""

from __future__ import annotations

import itertools
import json
import signal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.base.lumis import LumiCounts, lumi_keys, runs_and_lumis
from forkrun.index.model import FileIndex, LumiRange, LumiRanges
from forkrun.plan.select import LumiMask, count_lumis
from forkrun.rundir.ledger import Commit, SkippedEvent
from forkrun.rundir.lumi_accounting import account, golden_json
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, module, write_job

Lumi = tuple[int, int]
lumis = st.sets(st.tuples(st.integers(1, 3), st.integers(1, 20)))


def commit(run: int, lumi: int, n_events: int, skipped: int = 0) -> Commit:
    none, left_out = "0" * 32, tuple(SkippedEvent(n, "a.root", n, "") for n in range(skipped))
    return Commit(
        0, 0, 1, run, lumi, n_events, none, left_out, none, {}, None,
        0.0, 1.0, 1.0, 1.0, 0, 0,
    )  # fmt: skip


def keys_of(lumis: Iterable[Lumi]) -> npt.NDArray[np.uint64]:
    run, lumi = np.array(sorted(lumis), dtype=np.int64).reshape(-1, 2).T
    return lumi_keys(run, lumi)


def lumis_of(keys: npt.NDArray[np.uint64]) -> set[Lumi]:
    run, lumi = runs_and_lumis(keys)
    return set(zip(run.tolist(), lumi.tolist(), strict=True))


def sets_of(
    in_input: Mapping[Lumi, int], commits: list[Commit]
) -> tuple[set[Lumi], set[Lumi], set[Lumi]]:
    """Processed, failed and not finished."""
    run, lumi = np.array([*in_input], dtype=np.int64).reshape(-1, 2).T
    n_events = np.array([*in_input.values()], dtype=np.int64)
    counts = LumiCounts(run, lumi, n_events, np.zeros_like(run))
    found = account(counts, commits)
    return lumis_of(found.processed), lumis_of(found.failed), lumis_of(found.not_finished)


@pytest.mark.slow
@given(lumis)
def test_golden_json_accepts_exactly_the_lumis_it_was_made_of(wanted: set[tuple[int, int]]) -> None:
    ranges = golden_json(keys_of(wanted))
    mask = LumiMask.of({int(run): pairs for run, pairs in ranges.items()})
    every = {(run, lumi) for run in range(5) for lumi in range(25)}
    assert {lumi for lumi in every if mask.accepts(*lumi)} == wanted
    assert all(last + 1 < first for pairs in ranges.values()
               for (_, last), (first, _) in itertools.pairwise(pairs))  # fmt: skip


@given(st.dictionaries(st.tuples(st.just(1), st.integers(1, 9)), st.integers(1, 5)), st.data())
def test_the_sets_are_disjoint_and_together_the_input(
    in_input: dict[tuple[int, int], int], data: st.DataObject
) -> None:
    commits = []
    for (run, lumi), n in in_input.items():
        n_read = data.draw(st.integers(0, n))
        n_skipped = data.draw(st.integers(0, n - n_read))
        commits.append(commit(run, lumi, n_read, n_skipped))
    processed, failed, not_finished = parts = sets_of(in_input, commits)
    assert sum(map(len, parts)) == len(in_input)
    assert set().union(*parts) == in_input.keys()
    for c in commits:
        expected = (
            failed if c.skipped
            else processed if c.n_events == in_input[c.run, c.lumi]
            else not_finished
        )  # fmt: skip
        assert (c.run, c.lumi) in expected


def test_parts_of_a_lumi_add_up() -> None:
    commits = [commit(1, 2, 5), commit(1, 1, 4), commit(1, 1, 6), commit(1, 2, 4), commit(7, 7, 1)]
    in_input = {(1, 2): 10, (1, 1): 10, (2, 2**32 - 1): 3}
    assert sets_of(in_input, commits) == ({(1, 1)}, set(), {(1, 2), (2, 2**32 - 1)})


def test_lumis_of_two_runs_are_never_one_range() -> None:
    lumis = [(1, 2**32 - 1), (2, 0), (2, 1)]
    assert golden_json(keys_of(lumis)) == {"1": [[2**32 - 1, 2**32 - 1]], "2": [[0, 1]]}


def columns_of(counts: LumiCounts) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in counts.columns().items()}


def test_lumis_are_counted_over_files_within_the_mask() -> None:
    def file(name: str, *ranges: LumiRange) -> FileIndex:
        return FileIndex(name, name, 100, (0, 100), ranges, ())

    none = "0" * 32
    index = [
        file("a", LumiRange(1, 6, 0, 10, none), LumiRange(1, 5, 10, 13, none)),
        file("b", LumiRange(1, 6, 0, 2, none), LumiRange(2, 1, 2, 3, none)),
    ]
    ranges = LumiRanges.of(index)
    of_all = {"run": [1, 1, 2], "lumi": [6, 5, 1], "n_events": [12, 3, 1]}
    assert columns_of(count_lumis(ranges, None)) == of_all
    of_mask = count_lumis(ranges, LumiMask.of({1: [[5, 5]]}))
    assert columns_of(of_mask) == {"run": [1], "lumi": [5], "n_events": [3]}
    of_none = count_lumis(ranges, LumiMask.of({}))
    assert columns_of(of_none) == {"run": [], "lumi": [], "n_events": []}
    of_two = columns_of(count_lumis(ranges, None, [0, 1]))
    assert of_two == {
        "run": [1, 1, 1, 2],
        "lumi": [6, 5, 6, 1],
        "n_events": [10, 3, 2, 1],
        "dataset": [0, 0, 1, 1],
    }


def accounting_of(run: Path) -> tuple[Any, Any, Any]:
    names = ("processed", "failed", "notFinished")
    processed, failed, rest = (json.loads((run / f"{n}Lumis.json").read_text()) for n in names)
    return processed, failed, rest


@pytest.mark.parametrize("children", [0, 2])
def test_a_whole_job_has_processed_every_lumi_of_the_mask(tmp_path: Path, children: int) -> None:
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    (tmp_path / "mask.json").write_text('{"1": [[2, 3], [5, 9]]}')
    job = jets_job([events], forking={"children": children})
    job["source"]["lumi_mask"] = str(tmp_path / "mask.json")
    assert forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path).code == 0
    assert accounting_of(tmp_path / "run") == ({"1": [[2, 3], [5, 6]]}, {}, {})


def test_lumis_cut_by_max_events_are_not_finished(tmp_path: Path) -> None:
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    job = jets_job([events])
    job["source"]["max_events"] = 100
    assert forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path).code == 0
    assert accounting_of(tmp_path / "run") == ({"1": [[1, 2]]}, {}, {"1": [[3, 6]]})


@pytest.mark.slow
def test_a_lumi_with_an_event_left_out_has_failed_and_the_exit_code_says_so(tmp_path: Path) -> None:
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    job = jets_job([events], forking={"children": 2}, recovery={"on_bad_event": "skip"})
    job["modules"].append(module("fails", "Fails", event=150, how="SIGSEGV"))
    job["paths"]["skim"].insert(0, "fails")
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 8, ended.err
    assert "event 1:4:150 is left out: killed by signal 11 (SIGSEGV)" in ended.err
    assert f"1:4:150 (entry 149 of {events})" in ended.out
    assert "forkrun run RUNDIR/config.json --only 1:4:150 --children 0" in ended.out
    assert accounting_of(tmp_path / "run") == ({"1": [[1, 3], [5, 6]]}, {"1": [[4, 4]]}, {})
    report = json.loads((tmp_path / "run/report.json").read_text())["events"]
    cause = "killed by signal 11 (SIGSEGV)"
    assert report["left_out"] == [
        {"event": "1:4:150", "file": str(events), "entry": 149, "cause": cause}
    ]
    again = ["run/config.json", "--only", "1:4:150", "--children", 0, "-o", "alone"]
    alone = forkrun("run", *again, cwd=tmp_path)
    assert alone.code == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in alone.err
    assert (report["n_events_read"], report["digests_agree"]) == (239, True)
