"""Jobs on RNTuples that are killed, spread over nodes, extended, or of several datasets give the
bytes of one plain run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from tests.support.jobs import Ended, environment, forkrun, ledger_units, output_digests, write_job
from tests.support.rntuple_pair import events, write_pair

SKIM = {
    "modules": [{"label": "two", "type": "expression:nMuon >= 2", "kind": "filter"}],
    "paths": {"pairs": ["two"]},
    "outputs": [{"label": "skim", "paths": ["pairs"]}],
}


def write_files(folder: Path, *names: str) -> list[Path]:
    """RNTuples of 330 events each, in lumis of their own."""
    return [write_pair(folder, name, 330, 1 + 10 * (ord(name[0]) - ord("a")))[1] for name in names]


def skim_job(folder: Path, files: list[Path], **more: Any) -> Path:
    return write_job(folder, {"source": {"files": [str(f) for f in files]}, **SKIM, **more})


def done(*arguments: object, cwd: Path, **kwargs: Any) -> Ended:
    ended = forkrun(*arguments, cwd=cwd, **kwargs)
    assert ended.code == 0, ended.err
    return ended


def plain_run(folder: Path) -> dict[str, str]:
    """Digests of the outputs of one process."""
    done("run", "job.json", "-o", "plain", "-q", "--children", 0, cwd=folder)
    return output_digests(folder / "plain")


@pytest.mark.long
def test_a_job_that_is_killed_is_brought_to_its_end(tmp_path: Path) -> None:
    skim_job(tmp_path, write_files(tmp_path, "a", "b"), forking={"max_unit_events": 50})
    kill = [{"fault": "kill_parent", "at": "after_ledger", "unit": 3}]
    killed = forkrun(
        "run", "job.json", "-o", "run", "--children", 2, cwd=tmp_path,
        env=environment(FORKRUN_CHAOS=json.dumps(kill)),
    )  # fmt: skip
    assert killed.code != 0
    assert ledger_units(tmp_path / "run")
    done("resume", "run", cwd=tmp_path)
    assert output_digests(tmp_path / "run") == plain_run(tmp_path)


@pytest.mark.slow
def test_children_share_a_cluster_that_is_the_whole_file(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file.mkrntuple("Events", events(1000))
    skim_job(tmp_path, [tmp_path / "a.root"], forking={"max_unit_events": 40})
    done("run", "job.json", "-o", "run", "--children", 3, cwd=tmp_path)
    assert len(ledger_units(tmp_path / "run")) > 10  # lumis
    assert output_digests(tmp_path / "run") == plain_run(tmp_path)


@pytest.mark.long
def test_nodes_give_the_bytes_of_one_run_also_when_files_were_added(tmp_path: Path) -> None:
    files = write_files(tmp_path, "a", "b")
    submit = ("submit", "job.json", "--on", "local", "-o", "run", "--dry-run")
    skim_job(tmp_path, files)
    done(*submit, "--nodes", 2, cwd=tmp_path)
    skim_job(tmp_path, [*files, *write_files(tmp_path, "c")])
    done(*submit, "--extend", "--nodes", 1, cwd=tmp_path)
    for node in range(3):
        done("node", "run", node, "-q", cwd=tmp_path)
    done("collect", "run", "-q", cwd=tmp_path)
    assert output_digests(tmp_path / "run") == plain_run(tmp_path)


def test_datasets_have_outputs_of_their_own(tmp_path: Path) -> None:
    first, second = write_files(tmp_path, "a", "b")
    datasets = [
        {"name": name, "files": [str(file)]} for name, file in (("x", first), ("y", second))
    ]
    write_job(tmp_path, {"datasets": datasets, **SKIM})
    done("run", "job.json", "-o", "run", cwd=tmp_path)
    for name, first_lumi in (("x", 1), ("y", 11)):
        columns = events(330, first_lumi)
        two = np.diff(columns["Muon"].layout.offsets.data) >= 2
        with uproot.open(tmp_path / f"run/output/skim/{name}.root") as file:
            numbers = file["Events"]["event"].array().tolist()
        assert numbers == columns["event"][two].tolist()


def test_an_rntuple_is_a_friend_of_a_tree(tmp_path: Path) -> None:
    tree, _ = write_pair(tmp_path, "a", 300)
    n = np.arange(300)
    ids = {name: events(300)[name] for name in ("run", "luminosityBlock", "event")}
    with uproot.recreate(tmp_path / "scores.root") as file:
        file.mkrntuple("Scores", {**ids, "score": n * 2.0})
    friends = [{"tree": "Scores", "files": [str(tmp_path / "scores.root")]}]
    output = {"label": "all", "keep": ["event", "score"]}
    write_job(
        tmp_path,
        {"source": {"files": [str(tree)], "friends": friends}, "outputs": [output]},
    )
    done("run", "job.json", "-o", "run", cwd=tmp_path)
    with uproot.open(tmp_path / "run/output/all.root") as file:
        assert file["Events"]["score"].array().tolist() == (2 * n).tolist()


def test_a_friend_with_other_events_is_refused(tmp_path: Path) -> None:
    tree, ntuple = write_pair(tmp_path, "a", 300)
    ids = {name: events(300)[name] for name in ("run", "luminosityBlock", "event")}
    ids["event"] = ids["event"] + (np.arange(300) == 217).astype(np.uint64)
    with uproot.recreate(tmp_path / "scores.root") as file:
        file.mkrntuple("Scores", {**ids, "score": np.arange(300.0)})
    friends = [{"tree": "Scores", "files": [str(tmp_path / "scores.root")]}]
    for events_file in (tree, ntuple):
        output = {"label": "all", "keep": ["event", "score"]}
        source = {"files": [str(events_file)], "friends": friends}
        write_job(tmp_path, {"source": source, "outputs": [output]})
        ended = forkrun("run", "job.json", "-o", "run", "--force", cwd=tmp_path)
        assert ended.code == 3
        assert "from its entry 200 on (run 1, lumi 3)" in ended.err


def test_columns_have_both_names_in_expressions(tmp_path: Path) -> None:
    (file,) = write_files(tmp_path, "a")
    digests = []
    for text in ("any(Muon.pt > 30)", "any(Muon_pt > 30)"):
        modules = [{"label": "two", "type": f"expression:{text}", "kind": "filter"}]
        skim_job(tmp_path, [file], modules=modules)
        done("run", "job.json", "-o", "run", "--force", cwd=tmp_path)
        digests.append(output_digests(tmp_path / "run"))
    assert digests[0] == digests[1]


def test_fields_of_files_may_stand_in_any_order(tmp_path: Path) -> None:
    for name, first_lumi in (("a", 1), ("b", 11)):
        columns = events(200, first_lumi)
        order = sorted(columns, reverse=name == "b")
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mkrntuple("Events", {each: columns[each] for each in order})
    skim_job(tmp_path, [tmp_path / "a.root", tmp_path / "b.root"])
    done("run", "job.json", "-o", "run", cwd=tmp_path)
    with uproot.open(tmp_path / "run/output/skim.root") as file:
        found = file["Events"].arrays(["event", "Muon"])
    expected = [events(200, first) for first in (1, 11)]
    muons = [each["Muon"] for each in expected]
    two = [np.diff(each.layout.offsets.data) >= 2 for each in muons]
    assert found["event"].tolist() == [
        n for each, kept in zip(expected, two, strict=True) for n in each["event"][kept].tolist()
    ]
    assert found["Muon"].pt.tolist() == [
        pt for each, kept in zip(muons, two, strict=True) for pt in each[kept].pt.tolist()
    ]
