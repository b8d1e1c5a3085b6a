"""Event ids of known formats, which jobs find without being told."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import uproot

import forkrun
from forkrun import _core
from forkrun.errors import ForkrunError
from forkrun.index.known_ids import KNOWN_IDS
from tests.analysis.schema_files import write_physlite
from tests.server.root_program import call_root
from tests.support.jobs import forkrun as command
from tests.support.jobs import output_digests

N_EVENTS = 60
RUNS = np.full(N_EVENTS, 7)
LUMIS = 1 + np.arange(N_EVENTS) // 20
EVENTS = 1000 + np.arange(N_EVENTS)
Ids = npt.NDArray[Any]


def write(path: Path, names: dict[str, Ids], lists: bool = False) -> Path:
    """A tree with these columns of numbers, or lists of one, and the number `x` of each entry."""
    kind = "int32[]" if lists else "int32"
    columns = [*((name, kind) for name in names), ("x", "float32")]
    counters = dict.fromkeys(names, "") if lists else {}
    writer = _core.TreeWriter(str(path), "Events", columns, "zstd:1", counters=counters)
    values = {name: column.astype(np.int32) for name, column in names.items()}
    made: dict[str, Any] = values
    if lists:
        made = {n: (np.arange(len(v) + 1, dtype=np.int64), v) for n, v in values.items()}
    writer.write({**made, "x": np.arange(N_EVENTS, dtype=np.float32)})
    writer.close()
    return path


def ids_in(job: forkrun.Job, folder: Path) -> dict[str, list[int]]:
    """What modules see as ids of all events."""
    for name in ("run", "luminosityBlock", "event"):
        job.define(f"seen_{name}", name)
    job.output("ids", keep=["seen_*"])
    job.configure(job={"name": f"ids{uuid.uuid4().hex}"})
    result = job.run(2, output=folder / uuid.uuid4().hex, quiet=True, plots=False)
    assert result.report["events"]["digests_agree"]
    has_note = any("events have no ids" in note for note in result.report["notes"])
    source = json.loads((result.run_directory / "config.json").read_text())["source"]
    assert has_note == (not source["event_branch"])
    tree = next(name for name in uproot.open(result.output("ids")) if "forkrun" not in name)
    arrays = uproot.open(result.output("ids"))[tree].arrays(library="np")
    return {name.removeprefix("seen_"): arrays[name].tolist() for name in arrays}


@pytest.mark.slow
@pytest.mark.quick_cases(3)
@pytest.mark.parametrize(
    ("name", "lists"),
    [(name, False) for name in KNOWN_IDS] + [(name, True) for name in ("EDM4hep", "Delphes")],
)
def test_ids_of_each_known_format_are_found(tmp_path: Path, name: str, lists: bool) -> None:
    known = KNOWN_IDS[name]
    of_entries = np.arange(N_EVENTS), np.ones(N_EVENTS, int)
    columns = dict(zip(known, (RUNS, LUMIS, EVENTS), strict=True))
    columns.pop("", None)
    job = forkrun.Job(write(tmp_path / "a.root", columns, lists), name="known")
    assert ids_in(job, tmp_path) == {
        "run": (RUNS if known.run else of_entries[1]).tolist(),
        "luminosityBlock": (LUMIS if known.lumi else of_entries[1]).tolist(),
        "event": (EVENTS if known.event else of_entries[0]).tolist(),
    }
    named = {column.id: column.name for column in job.columns() if column.id}
    assert named == {
        key: name for key, name in zip(("run", "lumi", "event"), known, strict=True) if name
    }
    assert ("no ids: each file is a lumi of run 1" in str(job.columns())) == (not any(known))


@pytest.mark.long
def test_files_of_experiments_have_the_ids_that_uproot_reads(
    real_data: Path, tmp_path: Path
) -> None:
    delphes = real_data / "objects/delphes.root"
    numbers = uproot.open(delphes)["Delphes"]["Event.Number"].array()[:, 0].tolist()
    n = len(numbers)
    job = forkrun.Job(delphes, tree="Delphes")
    wanted = {"run": [1] * n, "luminosityBlock": [1] * n, "event": numbers}
    assert ids_in(job, tmp_path) == wanted
    edm = real_data / "objects/p8_ee_WW_ecm240_edm4hep.root"
    header = uproot.open(edm)["events/EventHeader"]
    events = header["EventHeader.eventNumber"].array()[:, 0].tolist()
    runs = header["EventHeader.runNumber"].array()[:, 0].tolist()
    found = ids_in(forkrun.Job(edm, tree="events"), tmp_path)
    assert found == {"run": runs, "luminosityBlock": [1] * len(runs), "event": events}
    ended = command(
        "columns", edm, "--tree", "events", "EventHeader.*Number", "--json", cwd=tmp_path
    )
    assert [(c["name"], c["id"]) for c in json.loads(ended.out)] == [
        ("EventHeader.eventNumber", "event"),
        ("EventHeader.runNumber", "run"),
    ]


@pytest.mark.slow
def test_physlite_is_read_and_single_events_are_found(tmp_path: Path) -> None:
    path = tmp_path / "physlite.root"
    call_root(write_physlite, str(path))
    job = forkrun.Job(path, tree="CollectionTree", source={"only": ["284500:2:107"]})
    assert ids_in(job, tmp_path) == {"run": [284500], "luminosityBlock": [2], "event": [107]}


@pytest.mark.slow
def test_duplicates_are_found_by_lists_of_one(tmp_path: Path) -> None:
    known, events = KNOWN_IDS["EDM4hep"], EVENTS.copy()
    events[5] = events[4]
    file = write(tmp_path / "a.root", {known.run: RUNS, known.event: events}, lists=True)
    with pytest.raises(ForkrunError, match="7:1:1004"):
        ids_in(forkrun.Job(file, source={"duplicates": "error"}), tmp_path)
    dropped = ids_in(forkrun.Job(file, source={"duplicates": "drop"}), tmp_path)["event"]
    assert dropped == np.delete(events, 5).tolist()


def test_what_a_user_names_wins(tmp_path: Path) -> None:
    known = KNOWN_IDS["EDM4hep"]
    columns = {known.run: RUNS, known.event: EVENTS, "mine": EVENTS + 1}
    file = write(tmp_path / "a.root", columns)
    source = {"run_branch": "", "lumi_branch": "", "event_branch": "mine"}
    found = ids_in(forkrun.Job(file, source=source), tmp_path)
    assert (found["run"], found["event"]) == ([1] * N_EVENTS, (EVENTS + 1).tolist())


def test_without_ids_a_job_that_needs_them_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "a.root", {})
    (tmp_path / "mask.json").write_text('{"1": [[1, 2]]}')
    needs: list[dict[str, Any]] = [
        {"lumi_mask": str(tmp_path / "mask.json")},
        {"runs": "1"},
        {"order": "sorted"},
        {"duplicates": "error"},
        {"only": ["1:1:1"]},
    ]
    for source in needs:
        with pytest.raises(ForkrunError, match="name the id branches of your files"):
            forkrun.Job(file, source=source).check()


def test_an_event_with_two_numbers_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    name = KNOWN_IDS["Delphes"].event
    writer = _core.TreeWriter(str(path), "Events", [(name, "int64[]")], "none", counters={name: ""})
    offsets = np.array([0, 1, 2, 4, 5], np.int64)
    writer.write({name: (offsets, np.arange(5, dtype=np.int64))})
    writer.close()
    with pytest.raises(ForkrunError, match=f'"{name}", entry 2: 2 values; an id branch holds'):
        forkrun.Job(path).check()


@pytest.mark.long
def test_nodes_process_files_of_known_formats(tmp_path: Path) -> None:
    known = KNOWN_IDS["EDM4hep"]
    for number, name in enumerate("ab"):
        columns = {known.run: RUNS, known.event: EVENTS + 100 * number}
        write(tmp_path / f"{name}.root", columns, lists=True)
    described = {"source": {"files": ["a.root"]}, "outputs": [{"label": "events"}]}
    job = tmp_path / "job.json"
    job.write_text(json.dumps(described))
    shape = ("--on", "local", "--nodes", 2, "--dry-run")
    assert (ended := command("submit", job, "-o", "nodes", *shape, cwd=tmp_path)).code == 0, ended
    described["source"]["files"].append("b.root")  # type: ignore[index]
    job.write_text(json.dumps(described))
    ended = command("submit", job, "-o", "nodes", "--extend", *shape, cwd=tmp_path)
    assert ended.code == 0, ended.err
    for number in range(4):
        assert (ended := command("node", "nodes", number, "-q", cwd=tmp_path)).code == 0, ended.err
    assert (ended := command("collect", "nodes", "-q", cwd=tmp_path)).code == 0, ended.err
    assert (ended := command("run", job, "-o", "one", "-q", cwd=tmp_path)).code == 0, ended.err
    assert output_digests(tmp_path / "nodes") == output_digests(tmp_path / "one")
