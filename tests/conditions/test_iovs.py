"""Which payload belongs to which lumi."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.base.lumis import Keys, lumi_keys
from forkrun.conditions.iov import Iov, close_intervals, make_iov_table, overlaps
from forkrun.config.conditions import LAST, iov_problems
from forkrun.config.read import read_config
from forkrun.errors import ConfigError
from tests.conditions.jobs import prefetch, scale_files

LUMIS = st.tuples(st.integers(0, 6), st.integers(0, 6))


def keys_of(lumis: list[tuple[int, int]]) -> Keys:
    return lumi_keys(*np.array(lumis, dtype=np.int64).reshape(-1, 2).T)


def table_of(lumis: list[tuple[int, int]], **conditions: list[Iov]) -> Any:
    n_events = np.ones(len(lumis), dtype=np.int64)
    return make_iov_table(keys_of(lumis), n_events, conditions)


@given(st.lists(LUMIS), st.lists(LUMIS, unique=True, max_size=5), st.lists(LUMIS, unique=True))
def test_every_lumi_gets_the_last_interval_that_has_begun(
    lumis: list[tuple[int, int]], one: list[tuple[int, int]], two: list[tuple[int, int]]
) -> None:
    conditions = {"one": [(0, 0), *one], "two": [(0, 0), *two]}
    starts = {label: sorted(set(bounds)) for label, bounds in conditions.items()}
    iovs = {label: close_intervals([Iov(s) for s in starts[label]]) for label in starts}
    table, problems = table_of(lumis, **iovs)
    assert problems == []
    sets = {}
    for lumi, iov in zip(lumis, table.of_unit, strict=True):
        expected = {label: sum(s <= lumi for s in starts[label]) - 1 for label in starts}
        assert table.intervals[iov] == expected
        sets[iov] = expected
    assert sorted(sets) == list(range(len(table.intervals)))
    ordered = [iov for _, iov in sorted(zip(lumis, table.of_unit, strict=True))]
    assert ordered == sorted(ordered)
    changes = [sets[n] != sets[n + 1] for n in range(len(sets) - 1)]
    assert all(changes)


@given(st.lists(LUMIS, min_size=1), st.lists(LUMIS, min_size=2, max_size=2, unique=True))
def test_lumis_in_no_interval_are_told_and_no_others(
    lumis: list[tuple[int, int]], bounds: list[tuple[int, int]]
) -> None:
    since, until = sorted(bounds)
    table, problems = table_of(lumis, sf=[Iov(since, until)])
    outside = {lumi for lumi in lumis if not since <= lumi <= until}
    assert len(problems) == any(x < since for x in outside) + any(x > until for x in outside)
    found = {lumi: table.intervals[n]["sf"] for lumi, n in zip(lumis, table.of_unit, strict=True)}
    assert {lumi for lumi, number in found.items() if number < 0} == outside


def test_units_without_events_lie_nowhere() -> None:
    iovs = {"sf": [Iov((5, 0))]}
    table, problems = make_iov_table(keys_of([(0, 0), (5, 1)]), np.array([0, 3]), iovs)
    assert (table.of_unit.tolist(), table.first_lumis, problems) == ([-1, 0], ((5, 1),), [])


def test_intervals_end_where_the_next_begin() -> None:
    iovs = close_intervals([Iov((7, 3)), Iov((2, 0), (4, LAST)), Iov((5, 0))])
    assert iovs == [Iov((2, 0), (4, LAST)), Iov((5, 0), (7, 2)), Iov((7, 3))]
    assert [str(iov) for iov in iovs] == ["since 2 until 4", "since 5 until 7:2", "since 7:3"]
    assert close_intervals([Iov((3, 0)), Iov((4, 0))])[0].until == (3, LAST)


# --- in a configuration ---------------------------------------------------------------------------
def problems_of(folder: Path, text: str) -> list[str]:
    file = folder / "job.toml"
    file.write_text(textwrap.dedent(text))
    with pytest.raises(ConfigError) as error:
        read_config(file)
    return [problem.removeprefix(f"{file}: ") for problem in error.value.problems]


def test_every_wrong_interval_is_named_at_once(tmp_path: Path) -> None:
    text = """
        [[conditions]]
        label = "sf"
        type = "npy"
        [[conditions.iovs]]
        since = 10
        until = "12:5"
        file = "a.npy"
        [[conditions.iovs]]
        since = "12:5"
        file = "b.npy"
        [[conditions.iovs]]
        since = 5
        until = 4
        [[conditions.iovs]]
        since = 10
        file = "c.npy"
        [[conditions.iovs]]
        since = "run 7"
        fle = "d.npy"
        [[conditions]]
        label = "both"
        type = "json"
        file = "x.json"
        index = "y.toml"
        """
    assert problems_of(tmp_path, text) == [
        'conditions[0].iovs[4].since (label "sf"): \'run 7\' is not of the form RUN or "RUN:LUMI"',
        'conditions[0].iovs[4].fle (label "sf"): unknown key; did you mean "file"?',
        'conditions[0].iovs[2].file (label "sf"): a condition of type npy needs a file',
        'conditions[0].iovs[4].file (label "sf"): a condition of type npy needs a file',
        'conditions[0].iovs[2].until (label "sf"): ends (4) before it begins (5)',
        'conditions[0].iovs[3].since (label "sf"): iovs[0] begins at 10, too; a lumi lies in one'
        " interval only",
        'conditions[0].iovs[1].since (label "sf"): begins at 12:5, before the end of iovs[0] (10'
        " until 12:5); a lumi lies in one interval only: end that one earlier, or leave out its"
        " `until`",
        'conditions[1].file (label "both"): the index file has the files and intervals; leave out'
        " file",
    ]


def test_an_unknown_type_and_wrong_declarations_are_named(tmp_path: Path) -> None:
    text = """
        [[conditions]]
        label = "sf"
        type = "corectionlib"
        dtype = "float46"
        shape = [3, -2]
        """
    said = problems_of(tmp_path, text)
    assert said[0].startswith("conditions[0].dtype (label \"sf\"): should be 'bool'")
    assert 'did you mean "float64"?' in said[0]
    assert said[1].startswith('conditions[0].shape[1] (label "sf"): should be greater than or')
    assert "'corectionlib' is not of the form npz, npy, json" in said[2]


def test_paths_of_intervals_are_relative_to_the_file_they_are_in(tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    iov = 'iovs = [{ since = 1, file = "sf/a.npy" }]'
    file.write_text(
        f'[[conditions]]\nlabel = "a"\ntype = "npy"\n{iov}\n'
        '[[conditions]]\nlabel = "b"\ntype = "npy"\nindex = "sf/index.toml"\n'
    )
    first, second = read_config(file).conditions
    assert first.iovs[0].file == str(tmp_path / "sf/a.npy")
    assert second.index == str(tmp_path / "sf/index.toml")
    (tmp_path / "sf").mkdir()
    scale_files(tmp_path / "sf", 1.5, 2.5)
    index = {"iovs": [{"since": 1, "file": "scale-1.5.npy"}, {"since": 2, "file": "scale-2.5.npy"}]}
    (tmp_path / "sf/index.json").write_text(json.dumps(index))
    conditions = prefetch(
        [{"label": "b", "type": "npy", "index": str(tmp_path / "sf/index.json")}], (1, 1), (2, 1)
    )
    assert [conditions.enter_unit(n) for n in (0, 1)] == [0, 1]
    assert conditions.snapshots[1]["b"] == [2.5]


# --- for a plan -----------------------------------------------------------------------------------
def scale(files: list[Path], *bounds: tuple[object, object]) -> dict[str, Any]:
    iovs = [
        {"since": since, "until": until, "file": str(file)}
        for (since, until), file in zip(bounds, files, strict=True)
    ]
    return {"label": "scale", "type": "npy", "iovs": iovs}


def said(configs: list[dict[str, Any]], *lumis: tuple[int, int], **options: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        prefetch(configs, *lumis, **options)
    return caught.value.problems


def test_only_what_the_plan_needs_is_loaded(tmp_path: Path) -> None:
    files = scale_files(tmp_path, 1.5, 2.5, 3.5)
    files[1].write_bytes(b"broken, but no event needs it")
    config = scale(files, (1, None), (5, None), ("9:4", None))
    conditions = prefetch([config], (9, 4), (4, 1), (9, 3000))
    assert sorted(conditions.prefetched) == [("scale", 0), ("scale", 2)]
    assert [conditions.enter_unit(n) for n in range(3)] == [1, 0, 1]


def test_lumis_in_gaps_before_and_after_are_told_once_each(tmp_path: Path) -> None:
    files = scale_files(tmp_path, 1.5, 2.5)
    config = scale(files, (3, "4:7"), (8, 9))
    lumis = [(2, n) for n in range(1, 13)] + [(3, 1), (4, 8), (7, 2), (8, 1), (10, 1)]
    remedy = "; add an interval, or leave these lumis out with source.lumi_mask"
    assert said([config], *lumis) == [
        'condition "scale": the job processes run 2 (12 lumis from 1 to 12), before its first'
        f" interval (since 3 until 4:7){remedy}",
        'condition "scale": the job processes run 4 (lumi 8), run 7 (lumi 2), in the gap between'
        f" two of its intervals (since 3 until 4:7; since 8 until 9){remedy}",
        'condition "scale": the job processes run 10 (lumi 1), after its last interval (since 8'
        f" until 9){remedy}",
    ]
    assert len(prefetch([config], (3, 1), (8, 2)).prefetched) == 2


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    files = scale_files(tmp_path, 1.5)
    configs = [
        {**scale([*files, tmp_path / "none.npy"], (1, None), (2, None))},
        {"label": "a", "type": "npy", "file": str(files[0]), "dtype": "float32"},
        {"label": "b", "type": "json", "file": str(files[0])},
        {"label": "c", "type": "npy", "index": str(tmp_path / "none.toml")},
        {"label": "d", "type": "npy", "file": "root://host/a.npy"},
        {"label": "e", "type": "npy", "file": str(files[0]), "params": {"memorymap": True}},
    ]
    problems = said(configs, (1, 1), exclude=["scal"])
    assert [problem.split(": ")[0] for problem in problems] == [
        "prefetch.exclude",
        'condition "scale", iovs[1] (since 2)',
        'condition "c"',
        'condition "d"',
        'condition "e"',
        'condition "a"',
        'condition "b"',
    ]
    assert problems[0].endswith('no condition is called "scal"; did you mean "scale"?')
    assert problems[1].endswith(f"file not found: {tmp_path}/none.npy")
    assert problems[4].endswith(
        "NpyProvider has no parameter 'memorymap'; did you mean \"memory_map\"?"
    )


def test_a_wrong_index_file_is_named(tmp_path: Path) -> None:
    index = tmp_path / "index.toml"
    index.write_text("[[iovs]]\nsince = 5\nfil = 'a'\n[[iovs]]\nsince = 'x'\n")
    config = {"label": "c", "type": "npy", "index": str(index)}
    where = f'condition "c": index file {index}'
    assert said([config]) == [
        f'{where}: iovs[0].fil: unknown key; did you mean "file"?',
        f"{where}: iovs[1].since: 'x' is not of the form RUN or \"RUN:LUMI\"",
    ]
    index.write_text("[[iovs]]\nsince = 5\n[[iovs]]\nsince = '5:0'\n")
    assert said([config]) == [
        f"{where}: iovs[1].since: iovs[0] begins at 5, too; a lumi lies in one interval only"
    ]
    index.write_text("iovs = []")
    assert said([config]) == [f"{where}: iovs: it contains no interval"]
    index.write_text("[")
    assert said([config])[0].startswith(f"{where} is neither TOML nor (.json) JSON: ")


def test_intervals_of_the_same_file_share_a_payload(tmp_path: Path) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    other = {"since": 9, "params": {"memory_map": True}}
    iovs = [{"since": 1}, {"since": 3, "until": 4}, {"since": 6}, other]
    config = {"label": "scale", "type": "npy", "file": str(file), "iovs": iovs}
    conditions = prefetch([config], (1, 1), (3, 1), (7, 1), (9, 1))
    assert sorted(conditions.prefetched) == [("scale", 0), ("scale", 1)]
    seen = []
    for unit in range(4):
        seen.append(conditions.snapshots[conditions.enter_unit(unit)]["scale"])
    assert seen[0] is seen[1] is seen[2]
    assert seen[3] is not seen[0]


# --- excluded -------------------------------------------------------------------------------------
def test_what_is_excluded_is_loaded_on_first_need_and_forgotten(tmp_path: Path) -> None:
    files = scale_files(tmp_path, 1.5, 2.5, 3.5)
    config = scale(files, (1, None), (2, None), (3, None))
    conditions = prefetch([config], (1, 1), (2, 1), (3, 1), exclude=["sc*"])
    assert conditions.prefetched == {}

    def value(unit: int) -> Any:
        return conditions.snapshots[conditions.enter_unit(unit)]["scale"]

    first, second = value(0), value(1)
    assert (first[0], second[0]) == (1.5, 2.5)
    assert value(0) is first
    assert value(2)[0] == 3.5
    assert value(0) is first
    again = value(1)
    assert again is not second
    assert again[0] == 2.5


def test_outside_of_events_there_is_what_is_the_same_for_all(tmp_path: Path) -> None:
    files = scale_files(tmp_path, 1.5, 2.5)
    config = scale(files, (1, None), (2, None))
    assert prefetch([config], (2, 1), (2, 2)).outside["scale"] == [2.5]
    several = prefetch([config], (1, 1), (2, 1))
    with pytest.raises(KeyError, match='"scale" has 2 different payloads for the events of this'):
        several.outside["scale"]
    excluded = prefetch([config], (2, 1), exclude=["scale"])
    with pytest.raises(KeyError, match='"scale" is excluded from prefetching'):
        excluded.outside["scale"]
    assert excluded.snapshots[excluded.enter_unit(0)]["scale"] == [2.5]
    with pytest.raises(KeyError, match='unknown condition "scael"; did you mean "scale"'):
        excluded.snapshots[0]["scael"]


@given(st.lists(st.tuples(LUMIS, LUMIS), max_size=5))
def test_intervals_overlap_if_and_only_if_a_lumi_lies_in_two(
    bounds: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    iovs = [Iov(min(pair), max(pair)) for pair in bounds]
    n_intervals = [
        sum(iov.since <= (run, lumi) <= iov.until for iov in iovs)
        for run in range(7)
        for lumi in range(7)
    ]
    assert bool(list(overlaps(iovs))) == (max(n_intervals, default=0) > 1)
    raw = [{"since": _text(iov.since), "until": _text(iov.until)} for iov in iovs]
    assert bool(list(iov_problems(raw))) == (max(n_intervals, default=0) > 1)


def _text(lumi: tuple[int, int]) -> str:
    return f"{lumi[0]}:{lumi[1]}"
