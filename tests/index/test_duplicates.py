"""Input that is there twice: the same file, and the same events."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot
from hypothesis import given
from hypothesis import strategies as st

from forkrun import _core
from forkrun.config.source import IdBranches
from forkrun.index import duplicates, read
from forkrun.index.duplicates import find_duplicates
from forkrun.index.model import FileIndex, LumiRange, LumiRanges
from forkrun.index.read import ask_workers, index_files
from tests.batch.jobs import Job, problem_of, status_of
from tests.server.root_program import call_root
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, output_digests, wait_for, write_job

IDS = IdBranches("Events", "run", "luminosityBlock", "event")
Id = tuple[int, int, int]


def run(folder: Path, files: Sequence[Path], *words: str, **source: Any) -> Ended:
    job = {
        "source": {"files": [str(file) for file in files], **source},
        "outputs": [{"label": "events"}],
    }
    return forkrun(*words[:1], write_job(folder, job), *words[1:], cwd=folder)


def write_ids(path: Path, ids: Sequence[Id]) -> Path:
    """A file with these events in this order."""
    columns = [("run", "uint32"), ("luminosityBlock", "uint32"), ("event", "uint64")]
    writer = _core.TreeWriter(str(path), "Events", columns, "zstd:1")
    run, lumi, event = np.array(ids, dtype=np.int64).reshape(-1, 3).T
    values = (run.astype(np.uint32), lumi.astype(np.uint32), event.astype(np.uint64))
    writer.write({name: value for (name, _), value in zip(columns, values, strict=True)})
    writer.close()
    return path


def ids_of(file: Path) -> list[Id]:
    with uproot.open(file) as opened:
        columns = opened["Events"].arrays(["run", "luminosityBlock", "event"], library="np")
    names = ("run", "luminosityBlock", "event")
    return list(zip(*(columns[name].tolist() for name in names), strict=True))


def report(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "run/report.json").read_text())
    return value


def test_the_same_file_again_is_an_error_that_names_both(tmp_path: Path) -> None:
    """By a link, a hard link, as a copy."""
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    again = [tmp_path / f"{letter}.root" for letter in "bcd"]
    os.symlink(file, again[0])
    os.link(file, again[1])
    shutil.copy(file, again[2])
    files = [file, *again]
    drop = {"duplicates": "drop"}
    ended = [
        run(tmp_path, files, "check"),
        *(run(tmp_path, files, "run", "-o", "run", "-q", **source) for source in ({}, drop)),
    ]
    for each in ended:
        assert each.code == 3
        assert all(f"{path}: is the same file as {file}" in each.err for path in again)
        assert 'source.duplicates = "keep"' in each.err
    kept = run(tmp_path, files, "run", "-o", "run", "-q", duplicates="keep")
    assert (kept.code, kept.err) == (0, "")
    assert ids_of(tmp_path / "run/output/events.root") == 4 * ids_of(file)
    assert report(tmp_path)["warnings"] == []


def test_the_same_rntuple_again_is_an_error(tmp_path: Path) -> None:
    trees, file = write_events(tmp_path / "a.root", [(1, 1, 30)]), tmp_path / "b.root"
    assert forkrun("convert", trees, file, cwd=tmp_path).code == 0
    again = Path(shutil.copy(file, tmp_path / "c.root"))
    ended = run(tmp_path, [trees, file, again], "check")
    assert (ended.code, f"{again}: is the same file as {file}" in ended.err) == (3, True)


def write_reproducible(path: str, text: str) -> None:
    import ROOT

    file = ROOT.TFile.Open(f"{path}?reproducible", "recreate", "", 0)
    file.WriteObject(ROOT.TNamed("text", text), "text")
    file.Close()


@pytest.mark.slow
def test_files_with_equal_uuid_and_size_and_other_bytes_are_two(tmp_path: Path) -> None:
    made = [tmp_path / "a.root", tmp_path / "b.root"]
    for path, text in zip(made, ("one", "two"), strict=True):
        call_root(write_reproducible, str(path), text)
    assert made[0].stat().st_size == made[1].stat().st_size
    index = [FileIndex(str(path), "same", 1, (0, 1), (), (), 100) for path in made]
    duplicates.check_files_differ(index)


def test_files_without_events_may_be_the_same(tmp_path: Path) -> None:
    empty, full = (
        write_events(tmp_path / "a.root", []),
        write_events(tmp_path / "c.root", [(1, 1, 3)]),
    )
    shutil.copy(empty, tmp_path / "b.root")
    ended = run(tmp_path, [empty, full, tmp_path / "b.root"], "run", "-o", "run", "-q")
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_events_that_are_in_two_files_are_named_once(tmp_path: Path) -> None:
    a = write_events(tmp_path / "a.root", [(1, 1, 30), (1, 2, 5)])
    b = write_events(tmp_path / "b.root", [(1, 1, 20)], first_event=21)
    text = (
        f"10 events are in the input more than once; the first is 1:1:21, entry 20 of {a} and"
        f" entry 0 of {b}"
    )
    ended = run(tmp_path, [a, b], "check")
    assert ended.code == 0
    assert text in ended.err
    assert run(tmp_path, [a, b], "check", "--strict").code == 2
    ended = run(tmp_path, [a, b], "plan", "--json")
    assert ended.err.startswith(f"forkrun: warning: {text}; all are processed: ")
    assert run(tmp_path, [a, b], "run", "-o", "run", "-q").code == 0
    assert [w for w in report(tmp_path)["warnings"] if text in w]
    assert ids_of(tmp_path / "run/output/events.root") == ids_of(a) + ids_of(b)
    ended = run(tmp_path, [a, b], "check", duplicates="error")
    assert ended.code == 3
    assert text in ended.err


@pytest.mark.long
def test_dropped_events_are_counted_and_outputs_are_the_same_for_any_children(
    tmp_path: Path,
) -> None:
    ids = [(1, 1, n) for n in (5, 3, 5, 9, 3)] + [(1, 2, 5)] + [(1, 1, n) for n in (1, 9, 7)]
    a = write_ids(tmp_path / "a.root", ids)
    b = write_ids(tmp_path / "b.root", [(1, 3, 1), (1, 1, 7), (1, 1, 8), (1, 2, 5), (1, 2, 6)])
    digests = []
    for children, distribution in ((0, "guided"), (2, "guided"), (2, "lumi"), (3, "contiguous")):
        more = ["--children", str(children), "--distribution", distribution]
        ended = run(tmp_path, [a, b], "run", "-o", "run", "-q", "--force", *more, duplicates="drop")
        assert (ended.code, ended.err) == (0, "")
        assert report(tmp_path)["events"]["n_events_dropped"] == 5
        assert report(tmp_path)["events"]["digests_agree"]
        assert "dropped 5 that are in the input before" in (tmp_path / "run/report.txt").read_text()
        assert not json.loads((tmp_path / "run/notFinishedLumis.json").read_text())
        written = ids_of(tmp_path / "run/output/events.root")
        assert sorted(written) == sorted(dict.fromkeys(ids + ids_of(b)))
        digests.append(output_digests(tmp_path / "run"))
    assert digests[0] == digests[1] == digests[3]  # with "lumi" each lumi is in one piece
    again = run(tmp_path, [a, b], "run", "-o", "run", "-q", *more, duplicates="drop")
    assert (again.code, again.err) == (0, "")
    alone = run(tmp_path, [a, b], "run", "-o", "x", "-q", "--only", "1:1:9", duplicates="drop")
    assert (alone.code, alone.err) == (0, "")
    assert ids_of(tmp_path / "x/output/events.root") == [(1, 1, 9)]


@pytest.mark.long
def test_nodes_drop_the_same_events(tmp_path: Path) -> None:
    a = write_events(tmp_path / "a.root", [(1, n, 10) for n in range(1, 9)])
    b = write_events(tmp_path / "b.root", [(1, n, 10) for n in range(3, 9)], first_event=25)
    job = Job.of(tmp_path, [a, b], source={"files": [str(a), str(b)], "duplicates": "drop"})
    dropped = json.loads((tmp_path / "one/report.json").read_text())["events"]["n_events_dropped"]
    assert dropped == len(ids_of(a) + ids_of(b)) - len(set(ids_of(a) + ids_of(b))) > 0
    nodes = tmp_path / "nodes"
    ended = job.submit(nodes, "--nodes", 3, "--set", "batch.at_once=2")
    assert ended.code == 0, ended.err
    wait_for(lambda: status_of(nodes)["states"]["done"] == 3)
    assert forkrun("collect", nodes, "-q", cwd=tmp_path).code == 0
    assert problem_of(nodes, job.truth) == ""
    whole = json.loads((nodes / "report.json").read_text())["events"]
    assert (whole["n_events_dropped"], whole["digests_agree"]) == (dropped, True)


def test_events_outside_the_mask_do_not_count(tmp_path: Path) -> None:
    a = write_events(tmp_path / "a.root", [(1, 1, 30), (1, 2, 5)])
    b = write_events(tmp_path / "b.root", [(1, 1, 20), (1, 3, 4)], first_event=21)
    (tmp_path / "mask.json").write_text('{"1": [[2, 3]]}')
    ended = run(tmp_path, [a, b], "check", "--strict", lumi_mask="mask.json")
    assert (ended.code, ended.err) == (0, "")


def test_a_mask_that_accepts_nothing_is_a_warning(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    (tmp_path / "mask.json").write_text('{"2": [[1, 9]]}')
    ended = run(tmp_path, [file], "check", lumi_mask="mask.json")
    assert ended.code == 0
    assert "mask.json accepts no event of the input, which is of run 1" in ended.err
    assert run(tmp_path, [file], "check", "--strict", lumi_mask="mask.json").code == 2
    assert run(tmp_path, [file], "run", "-o", "run", "-q", lumi_mask="mask.json").code == 0
    assert "accepts no event" in report(tmp_path)["warnings"][0]


@pytest.mark.parametrize(("at_once", "few"), [(1, 64), (7, 0), (1 << 22, 64), (1 << 22, 0)])
def test_what_is_found_is_what_a_plain_program_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, few: int
) -> None:
    monkeypatch.setattr(duplicates, "_MOST_AT_ONCE", at_once)
    monkeypatch.setattr(duplicates, "_FEW_FILES", few)
    random = np.random.default_rng(at_once)
    ids = [
        [(1, int(lumi), int(event)) for lumi, event in zip(lumis, events, strict=True)]
        for n, start in ((40, 1), (0, 1), (25, 21), (30, 31), (60, 1), (20, 24), (20, 41))
        for lumis in [np.repeat(random.integers(0, 4, n), random.integers(1, 3, n))[:n] + start]
        for events in [random.integers(0, 30, len(lumis))]
    ]
    files = [write_ids(tmp_path / f"{n}.root", each) for n, each in enumerate(ids)]
    index = index_files([str(file) for file in files], IDS)
    ranges = LumiRanges.of(index)
    found = find_duplicates(index, ranges, IDS)
    everything = [
        (event, n, entry) for n, each in enumerate(ids) for entry, event in enumerate(each)
    ]
    first = {event: (n, entry) for event, n, entry in reversed(everything)}
    again = [(event, n, entry) for event, n, entry in everything if first[event] != (n, entry)]
    assert found.n_events == len(again) > 0
    assert found.example is not None
    assert found.example[:3] == again[0][0]
    assert found.example.again == (str(files[again[0][1]]), again[0][2])
    assert found.example.first == (str(files[first[again[0][0]][0]]), first[again[0][0]][1])
    left = ranges.without(found.parts)
    kept = [
        (n, entry)
        for n, begin, end in zip(left.file, left.first, left.last, strict=True)
        for entry in range(begin, end)
    ]
    assert kept == sorted(first.values())
    digest = _core.EventDigest()
    for run_number, lumi, event in first:
        digest.add(run_number, lumi, np.array([event], dtype=np.uint64))
    assert f"{left.digest_of_all():032x}" == digest.hex
    asked: list[Any] = []

    def ask(todo: list[dict[str, Any]]) -> Any:
        asked.extend(todo)
        return ask_workers(todo)

    monkeypatch.setattr(read, "ask_workers", ask)
    assert find_duplicates(index, ranges, IDS) == found  # as it was kept
    assert not asked
    if at_once > 7 and not few:  # files without a lumi in common with a new one are not read again
        more = index_files([str(write_ids(tmp_path / "more.root", [(1, 45, 1)] * 2))], IDS)
        both = find_duplicates([*more, *index], LumiRanges.of([*more, *index]), IDS)
        assert both.n_events == found.n_events + 1
        assert [len(request["paths"]) for request in asked if "paths" in request] == [1]


def test_events_in_order_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated files share lumis, and number their events on."""
    files = [
        write_events(tmp_path / f"{n}.root", [(1, 1, 30), (1, 2, 10), (1, 1, 5)], 45 * n)
        for n in range(3)
    ]
    index = index_files([str(file) for file in files], IDS)
    assert [(file.rises, file.events) for file in index] == [
        (True, (45 * n, 45 * n + 44)) for n in range(3)
    ]
    monkeypatch.setattr(read, "ask_workers", None)
    assert find_duplicates(index, LumiRanges.of(index), IDS).n_events == 0


pieces = st.lists(st.integers(0, 9), min_size=1, max_size=4)


@given(st.lists(pieces, min_size=1, max_size=5), st.data())
def test_ranges_without_entries_have_the_others(
    sizes: list[list[int]], data: st.DataObject
) -> None:
    ranges: list[LumiRange] = []
    at = 0
    for n_entries in (sum(each) + 1 for each in sizes):
        ranges.append(LumiRange(1, len(ranges), at, at + n_entries, f"{n_entries:032x}"))
        at += n_entries
    index = [FileIndex("a", "a", at, (0, at), tuple(ranges), ())]
    cut = sorted(data.draw(st.sets(st.integers(0, at - 1))))
    parts = [
        (n, entry, entry + 1, f"{1:032x}")
        for n, each in enumerate(ranges)
        for entry in cut
        if each.first <= entry < each.last
    ]
    left = LumiRanges.of(index).without(parts)
    entries = [e for a, b in zip(left.first, left.last, strict=True) for e in range(a, b)]
    assert entries == [entry for entry in range(at) if entry not in cut]
    assert left.digest_of_all() == at - len(cut)


def test_merge_names_inputs_that_are_there_twice(tmp_path: Path) -> None:
    file, link = write_events(tmp_path / "a.root", [(1, 1, 30)]), tmp_path / "link.root"
    copy = Path(shutil.copy(file, tmp_path / "copy.root"))
    link.symlink_to(file)
    ended = forkrun("merge", "out.root", file, link, copy, file, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ids_of(tmp_path / "out.root") == 4 * ids_of(file)
    for again, what in (
        (link, "the same file as"),
        (copy, "a copy of"),
        (file, "the same file as"),
    ):
        assert f"{again} is {what} {file}: their content is merged twice" in ended.out


@pytest.mark.slow
def test_events_of_different_datasets_are_never_the_same(tmp_path: Path) -> None:
    lumis = [(1, 1, 30), (1, 2, 30)]
    for name in ("a", "b"):
        write_events(tmp_path / f"{name}.root", lumis if name == "a" else lumis[:1])
    write_events(tmp_path / "c.root", lumis[1:], first_event=31)
    datasets = [{"name": "a", "files": ["a.root"]}, {"name": "bc", "files": ["b.root", "c.root"]}]
    write_job(tmp_path, {"datasets": datasets, "outputs": [{"label": "events"}]})
    ended = forkrun("check", "job.json", "--strict", cwd=tmp_path)
    assert ended.code == 0, ended.err
    datasets[1]["files"] = ["b.root", "c.root", "d.root"]
    write_events(tmp_path / "d.root", [(1, 2, 10)], first_event=40)
    write_job(tmp_path, {"datasets": datasets, "outputs": [{"label": "events"}]})
    ended = forkrun(
        "run", "job.json", "-o", "run", "-q", "--set", "source.duplicates=drop", cwd=tmp_path
    )
    assert ended.code == 0, ended.err
    assert report(tmp_path)["events"]["n_events_dropped"] == 10


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("rule", ["warn", "error", "drop", "keep"])
def test_an_event_in_two_datasets_of_data_is_there_twice(tmp_path: Path, rule: str) -> None:
    first = {"mc": 1, "mu": 1, "other": 1, "el": 6}
    for n, (name, event) in enumerate(first.items()):
        write_events(tmp_path / f"{name}.root", [(1 + (name == "other"), 1, 10 + n)], event)
    datasets = [{"name": n, "files": [f"{n}.root"], "is_data": n != "mc"} for n in first]
    source = {"duplicates": rule}
    outputs = [{"label": "events"}]
    write_job(tmp_path, {"source": source, "datasets": datasets, "outputs": outputs})
    ended = forkrun("run", "job.json", "-o", "run", "-q", cwd=tmp_path)
    what = (
        f"6 events are in the input more than once; the first is 1:1:6, entry 5 of"
        f' {tmp_path}/mu.root and entry 0 of {tmp_path}/el.root, of the datasets "mu" and "el"'
    )
    assert ended.code == (3 if rule == "error" else 0)
    if rule == "error":
        assert f"source.duplicates: {what}" in ended.err
        return
    said = [text for text in report(tmp_path)["warnings"] if what in text]
    assert len(said) == (rule != "keep")
    written = {n: ids_of(tmp_path / f"run/output/events/{n}.root") for n in first}
    counts = {name: len(ids) for name, ids in written.items()}
    assert counts == {"mc": 10, "mu": 11, "other": 12, "el": 7 if rule == "drop" else 13}
    assert written["el"][0] == (1, 1, 12 if rule == "drop" else 6)
