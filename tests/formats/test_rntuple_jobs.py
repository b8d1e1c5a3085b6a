"""Jobs on RNTuples give what they give on trees of the same events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from tests.support.jobs import forkrun, output_digests, write_job
from tests.support.rntuple_pair import events, write_pair

JOB = """
import awkward as ak
import forkrun

job = forkrun.Job([{files}], name="pairs")
job.hist("Muon_pt[Muon_charge > 0]", (50, 0, 100), name="pt")
job.hist("MET_pt", (50, 0, 100), name="met")


@job.producer
def pair(block):
    first, second = ak.unzip(ak.combinations(block.Muon, 2))
    return {{"pair_mass": ak.fill_none(ak.max((first + second).mass, axis=1), -1)}}


path = job.path("pairs").filter("nMuon >= 2").hist("pair_mass", (50, 0, 200), name="mass")
job.output("skim", paths=["pairs"], keep={keep}, format="{format}")
"""


def run_job(folder: Path, name: str, files: list[Path], keep: str = '["*"]', *more: Any) -> Path:
    """The run directory."""
    job = folder / f"{name}.py"
    listed = ", ".join(f'"{file}"' for file in files)
    made_as = "parquet" if "parquet" in more else "ttree"
    job.write_text(JOB.format(files=listed, keep=keep, format=made_as))
    arguments = [each for each in more if each != "parquet"]
    ended = forkrun("run", job, "-o", folder / name, *arguments, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / name


def histograms(run: Path) -> dict[str, Any]:
    with uproot.open(run / "output/histograms.root") as file:
        found = {}
        for key in file.keys(cycle=False, filter_classname="TH*"):
            histogram = file[key]
            found[key] = (
                histogram.values(flow=True).tolist(), histogram.variances(flow=True).tolist(),
            )  # fmt: skip
        return found


def cutflow(run: Path) -> Any:
    return json.loads((run / "report.json").read_text())["cutflow"]


def skim(run: Path) -> dict[str, list[Any]]:
    with uproot.open(run / "output/skim.root") as file:
        arrays = file["Events"].arrays()
        return {name: ak.to_list(arrays[name]) for name in arrays.fields}


@pytest.mark.slow
def test_the_same_job_gives_the_same_histograms_cutflow_and_skim(tmp_path: Path) -> None:
    pairs = [write_pair(tmp_path, "a", 470), write_pair(tmp_path, "b", 330, 6)]
    of_trees = run_job(tmp_path, "trees", [tree for tree, _ in pairs], '["*"]', "--children", 2)
    of_ntuples = run_job(tmp_path, "ntuples", [n for _, n in pairs], '["*"]', "--children", 2)
    assert histograms(of_ntuples) == histograms(of_trees)
    assert cutflow(of_ntuples) == cutflow(of_trees)
    assert skim(of_ntuples) == {name: skim(of_trees)[name] for name in skim(of_ntuples)}
    assert set(skim(of_ntuples)) == set(skim(of_trees))


@pytest.mark.long
def test_outputs_have_the_same_bytes_for_any_children(tmp_path: Path) -> None:
    _, ntuple = write_pair(tmp_path, "a", 1000)
    runs = [run_job(tmp_path, f"n{n}", [ntuple], '["*"]', "--children", n) for n in (0, 1, 3)]
    digests = [output_digests(run) for run in runs]
    assert digests[0].keys() == {"histograms.root", "skim.root"}
    assert digests[1:] == digests[:-1]


@pytest.mark.slow
def test_parquet_has_the_selected_events(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    _, ntuple = write_pair(tmp_path, "a", 470)
    run = run_job(tmp_path, "run", [ntuple], '["event", "Muon.pt", "MET_pt"]', "parquet")
    table = pq.read_table(run / "output/skim.parquet")
    columns = events(470)
    two = ak.num(columns["Muon"]) >= 2
    assert table["event"].to_pylist() == columns["event"][np.asarray(two)].tolist()
    assert table["Muon.pt"].to_pylist() == ak.to_list(columns["Muon"].pt[two])
    assert table["MET_pt"].to_pylist() == columns["MET_pt"][np.asarray(two)].tolist()
    assert "Muon_pt" not in table.column_names


def test_it_is_checked_planned_and_listed(tmp_path: Path) -> None:
    _, ntuple = write_pair(tmp_path, "a", 470)
    job = write_job(tmp_path, {"source": {"files": [str(ntuple)]}})
    checked = forkrun("check", job, cwd=tmp_path)
    assert checked.code == 0, checked.err
    planned = forkrun("plan", job, "--json", cwd=tmp_path)
    assert planned.code == 0, planned.err
    listed = forkrun("columns", ntuple, "--json", cwd=tmp_path)
    assert listed.code == 0, listed.err
    kinds = {each["name"]: each["type"] for each in json.loads(listed.out)}
    assert kinds["Muon.pt"] == kinds["Muon_pt"] == "float32[]"
    assert kinds["nMuon"] == "uint32"
    assert kinds["event"] == "uint64"


def selected(folder: Path, source: dict[str, Any], *more: Any, **sections: Any) -> list[int]:
    """Numbers of the events in an output of all."""
    job = {"source": source, "outputs": [{"label": "all", "keep": ["event"]}], **sections}
    ended = forkrun("run", write_job(folder, job), "-o", "run", "--force", *more, cwd=folder)
    assert ended.code == 0, ended.err
    with uproot.open(folder / "run/output/all.root") as file:
        numbers: list[int] = file["Events"]["event"].array().tolist()
    return numbers


def test_a_lumi_mask_selects_events(tmp_path: Path) -> None:
    _, ntuple = write_pair(tmp_path, "a", 470)
    (tmp_path / "mask.json").write_text('{"1": [[2, 2], [5, 5]]}')
    source = {"files": [str(ntuple)], "lumi_mask": "mask.json"}
    assert selected(tmp_path, source) == [*range(200, 300), *range(500, 570)]


def test_a_tree_and_an_rntuple_are_friends_of_an_rntuple(tmp_path: Path) -> None:
    _, ntuple = write_pair(tmp_path, "a", 300)
    n = np.arange(300)
    ids = {name: events(300)[name] for name in ("run", "luminosityBlock", "event")}
    with uproot.recreate(tmp_path / "tree.root") as file:
        file.mktree("Scores", {**ids, "tree_score": n * 1.0})
    with uproot.recreate(tmp_path / "ntuple.root") as file:
        file.mkrntuple("Scores", {**ids, "ntuple_score": n * 2.0})
    friends = [
        {"tree": "Scores", "files": [str(tmp_path / f"{name}.root")]} for name in ("tree", "ntuple")
    ]
    source = {"files": [str(ntuple)], "friends": friends}
    output = {"label": "all", "keep": ["event", "tree_score", "ntuple_score"]}
    job = write_job(tmp_path, {"source": source, "outputs": [output]})
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/all.root") as opened:
        arrays = opened["Events"].arrays(library="np")
    assert arrays["tree_score"].tolist() == n.tolist()
    assert arrays["ntuple_score"].tolist() == (2 * n).tolist()


def test_fields_that_some_files_lack_are_filled(tmp_path: Path) -> None:
    columns = events(100)
    for name, missing in (("a", ""), ("b", "MET_pt")):
        with uproot.recreate(tmp_path / f"{name}.root") as file:
            file.mkrntuple("Events", {n: each for n, each in columns.items() if n != missing})
    files = [str(tmp_path / f"{name}.root") for name in "ab"]
    source = {"files": files, "branches": {"fill": {"MET_pt": -1.0}}, "duplicates": "keep"}
    output = {"label": "all", "keep": ["event", "MET_pt"]}
    job = write_job(tmp_path, {"source": source, "outputs": [output]})
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/all.root") as opened:
        met = opened["Events"]["MET_pt"].array().tolist()
    assert met == [*columns["MET_pt"].tolist(), *[-1.0] * 100]


def test_a_damaged_page_is_an_error_that_names_it(real_data: Path, tmp_path: Path) -> None:
    content = bytearray((real_data / "rntuple/cmssw_like_6.40.root").read_bytes())
    content[1460] ^= 0x10  # in a page of ROOT's, which have checksums
    broken = tmp_path / "broken.root"
    broken.write_bytes(content)
    job = write_job(tmp_path, {"source": {"files": [str(broken)]}, "outputs": [{"label": "all"}]})
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 3
    assert f'{broken}: field "' in ended.err
    assert "page 0 in cluster 0, at byte" in ended.err
    assert "is damaged: its checksum is not that of its bytes" in ended.err


def test_trees_and_rntuples_are_not_mixed_in_one_job(tmp_path: Path) -> None:
    files = [str(file) for file in write_pair(tmp_path, "a", 100)]
    ended = forkrun("check", write_job(tmp_path, {"source": {"files": files}}), cwd=tmp_path)
    assert ended.code == 3
    assert "is of format rntuple" in ended.err
    assert "of format ttree: a job reads one" in ended.err


WATCHING = """
from pathlib import Path

from forkrun import Analyzer


class Watch(Analyzer):
    def pre_fork(self):
        loaded = "libROOTNTuple" in Path("/proc/self/maps").read_text()
        Path("loaded").write_text(str(loaded))

    def analyze(self, block):
        pass
"""


@pytest.mark.parametrize("is_ntuple", [False, True])
def test_what_children_need_of_root_is_loaded_before_they_are_forked(
    tmp_path: Path, is_ntuple: bool
) -> None:
    file = write_pair(tmp_path, "a", 20)[is_ntuple]
    (tmp_path / "watching.py").write_text(WATCHING)
    job = {
        "source": {"files": [str(file)]},
        "modules": [{"label": "watch", "type": "python:watching.py:Watch"}],
        "paths": {"p": ["watch"]},
        "forking": {"children": 2},
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (tmp_path / "loaded").read_text() == str(is_ntuple)
