"""Data beside simulation on many nodes: each knows what was found out about the files of all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core, load
from forkrun.errors import ConfigError
from forkrun.parent.result import Result
from tests.batch.jobs import Job
from tests.support.jobs import Ended, forkrun, output_digests, write_job

COLUMNS = {
    "run": "uint32",
    "luminosityBlock": "uint32",
    "event": "uint64",
    "x": "float32",
    "genWeight": "float32",
    "nHit": "uint32",
    "Hit_e": "float32[]",
    "HLT_New": "bool",
}
LACKS = {"dy": (), "tt": ("HLT_New",), "data": ("genWeight", "nHit", "Hit_e")}
FILES = {"data": ["data_1", "data_2"], "dy": ["dy_1"], "tt": ["tt_1", "tt_2"]}
FILL = {"branches": {"fill": {"genWeight": 1, "HLT_*": True, "Hit_*": 0, "nHit": 0}}}
N_EVENTS = 40


def write(folder: Path, name: str, lacks: tuple[str, ...], sums: bool) -> None:
    """Events of ten lumis of run 1, in each file alike."""
    events = np.arange(N_EVENTS)
    offsets = np.concatenate([[0], np.cumsum(events % 3)])
    values: dict[str, Any] = {
        "run": np.ones(N_EVENTS, np.uint32),
        "luminosityBlock": (1 + events // 4).astype(np.uint32),
        "event": (events + N_EVENTS * int(name[-1])).astype(np.uint64),
        "x": (events / N_EVENTS).astype(np.float32),
        "genWeight": (1 + events % 2).astype(np.float32),
        "nHit": (events % 3).astype(np.uint32),
        "Hit_e": (offsets, np.arange(offsets[-1], dtype=np.float32)),
        "HLT_New": events % 4 == 0,
    }
    columns = [(n, kind) for n, kind in COLUMNS.items() if n not in lacks and n != "nHit"]
    path = folder / f"{name}.root"
    writer = _core.TreeWriter(str(path), "Events", columns, "none")
    writer.write({n: values[n] for n, _ in columns})
    writer.close()
    if sums:
        with uproot.update(path) as file:
            file.mktree("Runs", {"genEventSumw": np.float64})
            file["Runs"].extend({"genEventSumw": np.array([60.0])})


def datasets(folder: Path) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "files": [str(folder / f"{file}.root") for file in files],
            **({"is_data": True} if name == "data" else {"cross_section": 2.0}),
        }
        for name, files in FILES.items()
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("datasets")
    for dataset, files in FILES.items():
        for file in files:
            write(place, file, LACKS[dataset], sums=dataset != "data")
    return place


def described(folder: Path, source: dict[str, Any], **sections: Any) -> dict[str, Any]:
    return {
        "job": {"luminosity": 3.0},
        "datasets": datasets(folder),
        "source": source,
        "modules": [
            {
                "label": "some",
                "type": "expression:HLT_New || x > 0.5",
                "kind": "filter",
            },
            {
                "label": "hits",
                "type": "expression:sum(Hit_e)",
                "kind": "histogram",
                "axes": [{"bins": 5, "low": 0, "high": 100}],
                "weight": "genWeight * lumi_weight",
            },
        ],
        "paths": {"p": ["some", "hits"]},
        "outputs": [{"label": "kept", "paths": ["p"], "keep": ["*", "lumi_weight"]}],
        "forking": {"children": 1},
        **sections,
    }


def finish(run: Path, n_nodes: int) -> None:
    for number in range(n_nodes):
        ended = forkrun("node", run, number, "-q", cwd=run.parent)
        assert ended.code == 0, ended.err
    ended = forkrun("collect", run, "-q", cwd=run.parent)
    assert ended.code == 0, ended.err


def of_one_node(file: Path, run: Path) -> dict[str, str]:
    ended = forkrun("run", file, "-o", run, "-q", cwd=run.parent)
    assert ended.code == 0, ended.err
    return output_digests(run)


def submit(file: Path, run: Path, *options: object) -> Ended:
    return Job(run.parent, file, {}).submit(run, "--dry-run", *options)


@pytest.mark.long
def test_branches_that_some_files_lack_are_filled_on_nodes_that_have_no_other_files(
    folder: Path, tmp_path: Path
) -> None:
    file = write_job(tmp_path, described(folder, FILL))
    truth = of_one_node(file, tmp_path / "one")
    assert submit(file, tmp_path / "many", "--nodes", 5).code == 0
    finish(tmp_path / "many", 5)
    assert output_digests(tmp_path / "many") == truth
    hits = Result.read(tmp_path / "many").histograms["hits"]
    assert list(hits.axes[1]) == ["data", "dy", "tt"]
    # weights of 3 × 1000 × 2 / (60 or 120); all events of tt pass, and 25 of each other file
    assert hits.values().sum(axis=0).tolist() == [2 * 25, 35 * 100, 2 * 60 * 50]


@pytest.mark.slow
def test_what_all_files_have_is_what_nodes_keep(folder: Path, tmp_path: Path) -> None:
    job = described(folder, {"branches": "common"}, modules=[], paths={})
    job["outputs"] = [{"label": "all"}]
    file = write_job(tmp_path, job)
    truth = of_one_node(file, tmp_path / "one")
    assert submit(file, tmp_path / "many", "--nodes", 5).code == 0
    finish(tmp_path / "many", 5)
    assert output_digests(tmp_path / "many") == truth
    with uproot.open(Result.read(tmp_path / "many").output("all", "data")) as output:
        assert output["Events"].keys() == [*list(COLUMNS)[:4], "lumi_weight"]


def test_a_node_opens_no_file_of_others(folder: Path, tmp_path: Path) -> None:
    """Neither for their branches nor for sums of weights."""
    for place in folder.iterdir():
        (tmp_path / place.name).write_bytes(place.read_bytes())
    file = write_job(tmp_path, described(tmp_path, FILL))
    assert submit(file, tmp_path / "run", "--nodes", 5).code == 0
    part = json.loads((tmp_path / "run/batch/parts/0000.json").read_bytes())
    for place in tmp_path.glob("*.root"):
        if str(place) not in part["plan"]["files"].values():
            place.unlink()
    ended = forkrun("node", "run", 0, "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert part["plan"]["datasets"] == {"0": 0}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("source", "new", "words"),
    [
        (FILL, ("genWeight",), "the new files change the sum of weights of tt"),
        ({"branches": {"fill": {"x": 0}}}, ("x",), 'output "kept" would'),
        ({"branches": "common"}, ("x",), 'some files lack it'),
    ],
)  # fmt: skip
def test_files_that_change_what_nodes_have_made_are_not_added(
    folder: Path, tmp_path: Path, source: dict[str, Any], new: tuple[str, ...], words: str
) -> None:
    for place in folder.glob("tt_*.root"):
        (tmp_path / place.name).write_bytes(place.read_bytes())
    has_weights = "genWeight" in new
    job = described(tmp_path, source)
    job["datasets"] = [{"name": "tt", "files": [str(tmp_path / "tt_*.root")], "cross_section": 2.0}]
    job["modules"][0]["type"] = "expression:x > 0.5"
    job["modules"][1]["weight"] = "lumi_weight"
    if not has_weights:
        job["datasets"][0]["sum_of_weights"] = 120.0
    file = write_job(tmp_path, job)
    assert submit(file, tmp_path / "run", "--nodes", 2).code == 0
    write(tmp_path, "tt_3", (*LACKS["tt"], *(() if has_weights else new)), sums=True)
    ended = submit(file, tmp_path / "run", "--extend")
    assert ended.code == 2, ended.err
    assert words in ended.err


def test_the_types_of_nodes_are_those_of_all_files(folder: Path, tmp_path: Path) -> None:
    """Nodes that lack a column altogether know how it is filled."""
    file = write_job(tmp_path, described(folder, FILL))
    assert submit(file, tmp_path / "run", "--nodes", 5).code == 0
    found = json.loads((tmp_path / "run/batch/found.json").read_bytes())["branches"]
    types = {name: kind for name, kind, *_ in found["branches"]}
    assert types == COLUMNS
    assert sorted(found["filled"]) == ["HLT_New", "Hit_e", "genWeight", "nHit"]
    with pytest.raises(ConfigError):
        load(file, source={"branches": "others"})
