"""What outputs in RNTuples keep of RNTuples is as it was: pages, types and encodings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from tests.support.jobs import environment, forkrun, output_digests, write_job
from tests.support.rntuple_by_root import write_kinds
from tests.support.rntuple_files import by_forkrun
from tests.support.rntuple_pages import fields_of, pages_of
from tests.support.rntuple_pair import write_pair

NO_IDS = {"run_branch": "", "lumi_branch": "", "event_branch": ""}


def skim(file: Path | str, tree: str, cut: str = "", *more: Any, **output: Any) -> Path:
    """The output of a job that keeps events."""
    folder = Path(file).parent
    job: dict[str, Any] = {
        "source": {"files": [str(file)], "tree": tree, **NO_IDS},
        "outputs": [{"label": "all", **output}],
    }
    if cut:
        job["modules"] = [{"label": "cut", "type": f"expression:{cut}", "kind": "filter"}]
        job["paths"] = {"some": ["cut"]}
        job["outputs"][0]["paths"] = ["some"]
    ended = forkrun("run", write_job(folder, job), "-o", "run", "--force", *more, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / "run/output/all.root"


def write_large_clusters(path: Path) -> None:
    """Two clusters that are worth to be copied, and one of a few events."""
    rng = np.random.default_rng(3)
    with uproot.recreate(path) as file:
        for first, n in ((0, 100_000), (100_000, 100_000), (200_000, 10)):
            counts = rng.integers(0, 4, n)
            values = rng.normal(size=counts.sum()).astype("f4")
            part = {
                "x": np.arange(first, first + n),
                "y": rng.normal(size=n),
                "List": ak.zip({"v": ak.unflatten(values, counts)}),
            }
            file["Events"].extend(part) if first else file.mkrntuple("Events", part)


@pytest.mark.long
def test_pages_of_large_clusters_are_copied_as_they_are(tmp_path: Path) -> None:
    write_large_clusters(tmp_path / "in.root")
    made = skim(tmp_path / "in.root", "Events")
    assert fields_of(made, "Events") == fields_of(tmp_path / "in.root", "Events")
    before, after = pages_of(tmp_path / "in.root", "Events"), pages_of(made, "Events")
    assert after[:2] == before[:2]
    assert by_forkrun(str(made), "Events") == by_forkrun(str(tmp_path / "in.root"), "Events")
    some = skim(tmp_path / "in.root", "Events", "x < 150_000")
    assert pages_of(some, "Events")[0] == before[0]
    with uproot.open(some) as file:
        assert file["Events"]["x"].array().tolist() == list(range(150_000))


@pytest.mark.slow
def test_new_columns_are_beside_pages_that_are_copied(tmp_path: Path) -> None:
    write_large_clusters(tmp_path / "in.root")
    (tmp_path / "job.py").write_text(
        f"""
import forkrun

job = forkrun.Job(["{tmp_path}/in.root"], name="new")
job.configure(source=dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), ""))
job.define("z", "x + 1")
job.define("List_w", "List_v * 2")
job.output("all")
"""
    )
    ended = forkrun("run", "job.py", "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    made = tmp_path / "run/output/all.root"
    for before, after in zip(
        pages_of(tmp_path / "in.root", "Events")[:2], pages_of(made, "Events")[:2], strict=True
    ):
        assert [column for column in after if column in before] == before  # new ones in between
        assert len(after) == len(before) + 2
    with uproot.open(made) as file:
        table = file["Events"]
        assert table["z"].array().tolist() == list(range(1, 200_011))
        lists = table["List"].array()
        assert lists["w"].tolist() == (lists["v"] * 2).tolist()


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("compression", [505, 0])
def test_encodings_and_classes_are_kept_of_selected_events(
    tmp_path: Path, compression: int
) -> None:
    made = write_kinds(tmp_path / "in.root", 1000, compression)
    wanted = by_forkrun(made, "kinds")
    whole = skim(made, "kinds")
    assert fields_of(whole, "kinds") == fields_of(made, "kinds")
    assert len(pages_of(whole, "kinds")) == 1
    assert by_forkrun(str(whole), "kinds") == wanted
    with uproot.open(made) as before, uproot.open(whole) as after:
        assert after["kinds"]["deep"].array().tolist() == before["kinds"]["deep"].array().tolist()
    some = skim(made, "kinds", "wide > 0")
    assert fields_of(some, "kinds") == fields_of(made, "kinds")
    is_kept = [value > 0 for value in wanted["wide"]]
    for name, column in by_forkrun(str(some), "kinds").items():
        assert column == [v for v, kept in zip(wanted[name], is_kept, strict=True) if kept], name


def test_members_that_are_dropped_leave_the_others_as_they_were(tmp_path: Path) -> None:
    _, ntuple = write_pair(tmp_path, "a", 300)
    made = skim(ntuple, "Events", drop=["Muon_eta", "MET_pt"])
    gone = {"eta", "MET_pt"}
    before = [field for field in fields_of(ntuple, "Events") if field[0] not in gone]
    assert fields_of(made, "Events") == before
    found, wanted = by_forkrun(str(made), "Events"), by_forkrun(str(ntuple), "Events")
    assert found == {n: v for n, v in wanted.items() if "eta" not in n and n != "MET_pt"}


def test_small_clusters_are_kept_whole_behind_events_of_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    with uproot.recreate(tmp_path / "in.root") as file:
        for n in range(6):
            part = {"x": np.arange(1000 * n, 1000 * (n + 1)), "y": rng.normal(size=1000)}
            file["Events"].extend(part) if n else file.mkrntuple("Events", part)
    made = skim(tmp_path / "in.root", "Events", "x % 4000 >= 500")
    read, kept = by_forkrun(str(tmp_path / "in.root"), "Events"), by_forkrun(str(made), "Events")
    wanted = [i for i in range(6000) if i % 4000 >= 500]
    assert kept == {name: [values[i] for i in wanted] for name, values in read.items()}


@pytest.mark.long
def test_kept_pages_are_the_same_for_any_children_threads_and_units(tmp_path: Path) -> None:
    write_large_clusters(tmp_path / "in.root")
    digests = set()
    for children, threads, unit in ((0, 1, 300_000), (2, 2, 30_000), (3, 1, 7_777)):
        settings = (
            "--children", children, "--set", f"threads.per_child={threads}",
            "--set", f"forking.max_unit_events={unit}",
        )  # fmt: skip
        skim(tmp_path / "in.root", "Events", "y < 2 or x < 100_000", *settings)
        digests.add(output_digests(tmp_path / "run")["all.root"])
    assert len(digests) == 1


@pytest.mark.long
def test_kept_pages_are_the_same_on_nodes_and_when_a_child_is_killed(tmp_path: Path) -> None:
    write_large_clusters(tmp_path / "in.root")
    settings = ("--children", 2, "--set", "forking.max_unit_events=20000")
    skim(tmp_path / "in.root", "Events", "y < 2 or x < 100_000", *settings)
    plain = output_digests(tmp_path / "run")
    submit = ("submit", "job.json", "--on", "local", "--nodes", 3, "-o", "nodes", "--dry-run")
    of_nodes = [("node", "nodes", number, "-q") for number in range(3)]
    for words in ((*submit, *settings), *of_nodes, ("collect", "nodes", "-q")):
        ended = forkrun(*words, cwd=tmp_path)
        assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "nodes") == plain
    chaos = json.dumps([{"fault": "SIGKILL", "at": "before_rename", "unit": 4}])
    ended = forkrun(
        "run", "job.json", "-o", "run", "--force", *settings,
        cwd=tmp_path, env=environment(FORKRUN_CHAOS=chaos),
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "killed by signal 9" in (tmp_path / "run/report.txt").read_text()
    assert output_digests(tmp_path / "run") == plain
