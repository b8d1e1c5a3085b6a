"""Outputs as a job makes them: whole events, friends, files by lumi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, module, sha256, write_job

LUMIS = [(1, 1, 40), (1, 2, 3), (1, 3, 40), (2, 1, 60)]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_events(tmp_path / "events.root", LUMIS)


def run(folder: Path, events: Path, *outputs: dict[str, Any], **sections: Any) -> Path:
    """The run directory of a job with these outputs."""
    job = jets_job([events], **sections)
    job["outputs"] = list(outputs)
    ended = forkrun("run", write_job(folder, job), "-o", folder / "run", cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run"


def selected(events: Path) -> Any:
    """Numbers of the events with two jets above 30 GeV."""
    arrays = uproot.open(events)["Events"].arrays(["event", "Jet_pt"])
    return arrays.event[ak.sum(arrays.Jet_pt > 30, axis=1) >= 2]


def test_a_friend_has_ids_and_new_columns_of_every_event(tmp_path: Path, events: Path) -> None:
    output = run(tmp_path, events, {"label": "new", "mode": "friend"}) / "output" / "new.root"
    friend, tree = uproot.open(output), uproot.open(events)["Events"]
    assert friend.keys(cycle=False) == ["Events"]  # nothing is carried
    names = ["run", "luminosityBlock", "event", "HT", "nHardJet", "HardJet_pt"]
    assert sorted(friend["Events"].keys()) == sorted(names)
    assert ak.array_equal(friend["Events"]["event"].array(), tree["event"].array())
    pt = tree["Jet_pt"].array()
    assert ak.array_equal(friend["Events"]["HardJet_pt"].array(), pt[pt > 30])


def test_a_friend_needs_a_new_column(tmp_path: Path, events: Path) -> None:
    job = jets_job([events])
    job["outputs"] = [{"label": "new", "mode": "friend", "keep": ["Jet_*"]}]
    ended = forkrun("check", write_job(tmp_path, job), cwd=tmp_path)
    assert ended.code == 2
    assert 'outputs "new": keep and drop leave nothing to write' in ended.err


def test_a_new_column_may_have_the_counter_of_a_branch_that_is_not_kept(
    tmp_path: Path, events: Path
) -> None:
    output = {"label": "new", "mode": "friend", "keep": ["Jet_twice"]}
    names = {"jets": "ManyJets", "plots": "Plots", "twice": "TwicePt"}
    modules = [module(label, name) for label, name in names.items()]
    folder = run(tmp_path, events, output, modules=modules)
    tree = uproot.open(folder / "output" / "new.root")["Events"]
    pt = uproot.open(events)["Events"]["Jet_pt"].array()
    assert ak.array_equal(tree["Jet_twice"].array(), 2 * pt)
    assert ak.all(tree["nJet"].array() == ak.num(pt))


@pytest.mark.parametrize("distribution", ["guided", "round-robin"])
def test_files_by_lumi_have_the_events_of_their_lumis(
    tmp_path: Path, events: Path, distribution: str
) -> None:
    output = {"label": "lumis", "paths": ["skim"], "per_lumi": True}
    forking = {"children": 2, "distribution": distribution, "events_per_turn": 3}
    folder = run(tmp_path, events, output, forking=forking) / "output" / "lumis"
    listed = json.loads((folder / "files.json").read_bytes())
    assert [(file["run"], file["lumi"]) for file in listed] == [(r, n) for r, n, _ in LUMIS]
    assert sorted(file["file"] for file in listed) == sorted(p.name for p in folder.glob("*.root"))
    found = []
    for file in listed:
        tree = uproot.open(folder / file["file"])["Events"]
        arrays = tree.arrays(["run", "luminosityBlock", "event", "HT"])
        assert tree.num_entries == file["n_events"]
        assert ak.all((arrays.run == file["run"]) & (arrays.luminosityBlock == file["lumi"]))
        found.append(arrays.event)
    assert ak.array_equal(ak.concatenate(found), selected(events))


def test_a_run_with_files_by_lumi_is_done_until_one_is_gone(tmp_path: Path, events: Path) -> None:
    job = jets_job([events])
    job["outputs"] = [{"label": "lumis", "per_lumi": True}]
    job["merge"] = {"keep_temporary": True}
    file = write_job(tmp_path, job)
    first = forkrun("run", file, "-o", tmp_path / "run", cwd=tmp_path)
    assert first.code == 0, first.err
    assert "already done" in forkrun("run", file, "-o", tmp_path / "run", cwd=tmp_path).err
    gone = tmp_path / "run" / "output" / "lumis" / "run000001_lumi00002.root"
    content = gone.read_bytes()
    gone.unlink()
    again = forkrun("run", file, "-o", tmp_path / "run", cwd=tmp_path)
    assert again.code == 0
    assert f"{gone} is missing: the run is merged again" in again.err
    assert gone.read_bytes() == content


@pytest.mark.long
def test_outputs_that_are_made_together_have_the_bytes_of_each_alone(tmp_path: Path) -> None:
    files = write_sample(tmp_path / "in.root", SampleSettings(n_events=600, cluster=50, n_files=2))
    outputs: list[dict[str, Any]] = [
        {"label": "all"},
        {"label": "skim", "paths": ["skim"]},
        {"label": "few", "paths": ["skim"], "keep": ["Jet_*"], "compression": "lz4:4"},
        {"label": "new", "mode": "friend"},
        {"label": "lumis", "paths": ["skim"], "per_lumi": True},
    ]
    together = made(tmp_path / "together", files, outputs)
    alone = [made(tmp_path / str(o["label"]), files, [o]) for o in outputs]
    assert len(together) > len(outputs)
    assert together == {name: digest for one in alone for name, digest in one.items()}


def made(folder: Path, files: list[Path], outputs: list[dict[str, Any]]) -> dict[str, str]:
    """Names of the files of these outputs, made by a job, and their digests."""
    folder.mkdir()
    job = jets_job(files, forking={"children": 2})
    job["outputs"] = outputs
    ended = forkrun("run", write_job(folder, job), "-o", folder / "run", cwd=folder)
    assert ended.code == 0, ended.err
    found = (folder / "run" / "output").rglob("*.root")
    return {file.name: sha256(file) for file in found if file.name != "histograms.root"}


@pytest.mark.slow
def test_whole_baskets_stay_as_they_are_unless_a_compression_is_asked_for(
    tmp_path: Path,
) -> None:
    events = tmp_path / "events.root"
    write_sample(events, SampleSettings(n_events=20_000, cluster=10_000, compression="lz4:4"))
    outputs = {"label": "same"}, {"label": "other", "compression": "zlib:1"}
    run(tmp_path, events, *outputs)
    for label, algorithm in (("same", b"L4"), ("other", b"ZL")):
        file = tmp_path / "run" / "output" / f"{label}.root"
        assert first_algorithm(file, "run") == algorithm
        arrays = [uproot.open(f)["Events"]["Jet_pt"].array() for f in (file, events)]
        assert ak.array_equal(*arrays)


def first_algorithm(file: Path, branch: str) -> bytes:
    """The letters before the first compressed block of a branch."""
    baskets = uproot.open(file)["Events"][branch]
    begin = int(baskets.member("fBasketSeek")[0])
    record = file.read_bytes()[begin:]
    key_length = int(np.frombuffer(record[14:16], dtype=">i2")[0])
    return record[key_length : key_length + 2]


def test_a_run_directory_without_the_contents_of_outputs_is_refused_by_name(
    tmp_path: Path, events: Path
) -> None:
    folder = run(tmp_path, events, {"label": "all"}, merge={"enabled": False})
    (folder / "outputs.json").write_text("{}")
    ended = forkrun("merge", folder, cwd=tmp_path)
    assert ended.code == 3
    assert "outputs.json: cannot be read" in ended.err


def test_input_that_has_changed_before_the_merge_is_refused(tmp_path: Path, events: Path) -> None:
    folder = run(tmp_path, events, {"label": "all"}, merge={"enabled": False})
    write_events(events, LUMIS, first_event=2)
    ended = forkrun("merge", folder, cwd=tmp_path)
    assert ended.code == 3
    assert str(events) in ended.err
    assert "changed since it was indexed" in ended.err
    assert not list((folder / "output").glob("*"))
