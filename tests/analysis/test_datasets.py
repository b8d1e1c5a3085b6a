"""Datasets: which events are of which, what they weigh, and what histograms say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.config.read import read_config
from tests.support.datasets import write_all
from tests.support.jobs import environment
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True, "plots": False}
N_EVENTS = {"a1": 30, "a2": 11, "b": 20, "data": 9}
SUMS = {"a1": [10.0, 5.0], "a2": [25.0], "b": [8.0]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    write_all(tmp_path, N_EVENTS, SUMS)
    return tmp_path


def datasets() -> dict[str, Any]:
    return {
        "a": {"files": ["a1.root", "a2.root"], "cross_section": 4.0, "metadata": {"year": 2018}},
        "b": {"files": "b.root", "cross_section": 2.0},
        "data": {"files": "data.root", "is_data": True},
    }


def job(**sections: Any) -> forkrun.Job:
    made = forkrun.Job(datasets(), source={"branches": {"fill": {"genWeight": 1}}}, **sections)
    made.configure(job={"luminosity": 3.0})

    @made.analyzer
    def count(block: Any) -> None:
        name = block.dataset.name
        assert {"a": 2018}.get(name) == block.dataset.metadata.get("year")

    made.hist("x", (1, 0, 1), name="x", weight="genWeight * lumi_weight")
    made.hist("(x, x, x)", (1, 0, 1), (1, 0, 1), (1, 0, 1), name="cube")
    return made


WEIGHTS = {"a": 2 * 3000 * 4.0 / 40.0, "b": 2 * 3000 * 2.0 / 8.0, "data": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "forking",
    [{"distribution": "guided"}, pytest.param({"distribution": "lumi"}, marks=pytest.mark.long)],
)
def test_weights_are_by_dataset_however_units_are_cut(
    folder: Path, forking: dict[str, Any]
) -> None:
    result = job(forking=forking, threads={"block_size": 7}).run(children=2, **QUIET)
    x = result.histograms["x"]
    assert list(x.axes[1]) == ["a", "b", "data"]
    n_events = [N_EVENTS["a1"] + N_EVENTS["a2"], N_EVENTS["b"], N_EVENTS["data"]]
    expected = [n * w for n, w in zip(n_events, WEIGHTS.values(), strict=True)]
    assert x.values()[0].tolist() == expected
    cubes = [result.histograms[f"cube_{name}"].values().sum() for name in WEIGHTS]
    assert cubes == n_events


def test_one_dataset_alone_is_read_and_weighs_the_same(folder: Path) -> None:
    made = forkrun.Job(
        datasets(), source={"branches": {"fill": {"genWeight": 1}}}, job={"luminosity": 3.0}
    )
    made.hist("x", (1, 0, 1), weight="genWeight * lumi_weight")
    (folder / "job.toml").write_text(made.to_toml())
    ended = command("run", "job.toml", "--dataset", "b*", "--children", "1", cwd=folder)
    assert ended.code == 0, ended.err
    x = forkrun.Result.read(folder / "job-run").histograms["x"]
    assert x.values()[0].tolist() == [0, N_EVENTS["b"] * WEIGHTS["b"], 0]


def test_a_fileset_of_coffea_is_read_as_it_is(folder: Path) -> None:
    fileset = {
        "ttbar": {
            "files": {
                "a1.root": {"object_path": "Events", "steps": [[0, 30]]},
                "a2.root": "Events",
            },
            "metadata": {"xsec": 831.8, "year": 2018},
        },
        "data": ["data.root"],
    }
    (folder / "fileset.json").write_text(json.dumps(fileset))
    (folder / "job.toml").write_text('datasets = "fileset.json"\n')
    config = read_config(folder / "job.toml")
    job = forkrun.Job(folder / "fileset.json")
    assert job.config.datasets == config.datasets
    assert repr(job).startswith(f"Job(files of {folder / 'fileset.json'}, ")
    ttbar, data = config.datasets
    assert (ttbar.name, ttbar.cross_section, ttbar.metadata["year"]) == ("ttbar", 831.8, 2018)
    assert data.files == (str(folder / "data.root"),)
    assert config.source.files == tuple(str(folder / f"{n}.root") for n in ("a1", "a2", "data"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": {"files": "data.root"}}, r'"data": .*data.root has no tree Runs.*is_data = true'),
        ({"b": {"files": "b.root"}}, r'"b": lumi_weight needs its cross_section'),
        ({"c": {"files": "b.root", "is_data": True}}, r"b.root: named 2 times"),
    ],
)
def test_what_is_missing_for_a_weight_is_said_at_once(
    folder: Path, change: dict[str, Any], words: str
) -> None:
    made = forkrun.Job({**datasets(), **change}, job={"luminosity": 3.0}).hist("x", (1, 0, 1))
    with pytest.raises(forkrun.ForkrunError, match=words):
        made.run(children=0, **QUIET)


def test_a_dataset_that_there_is_not_is_named(folder: Path) -> None:
    made = forkrun.Job(datasets(), source={"datasets": ["dta"]}).hist("x", (1, 0, 1))
    with pytest.raises(forkrun.ConfigError, match='no dataset "dta"; did you mean "data"'):
        made.run(children=0, **QUIET)


def test_a_lumi_mask_holds_for_data(folder: Path) -> None:
    (folder / "golden.json").write_text('{"1": [[2, 2]]}')
    made = forkrun.Job(datasets(), source={"lumi_mask": "golden.json"}).hist("x", (1, 0, 1))
    x = made.run(children=1, **QUIET).histograms["x"]
    assert x.values()[0].tolist() == [41, 20, 4]


def test_cutflows_are_by_dataset_and_data_and_simulation_are_not_added(folder: Path) -> None:
    made = forkrun.Job(datasets()).filter("event % 2 == 0", label="even")
    made.filter("event < 12", label="low").hist("x", (1, 0, 1))
    result = made.run(children=2, **QUIET)
    flow = result.cutflow["main"]
    counts = {name: [cut["n_events"] for cut in cuts] for name, cuts in flow.datasets.items()}
    assert counts == {"a": [41, 15 + 6, 6 + 6], "b": [20, 10, 6], "data": [9, 5, 5]}
    assert flow.no_sum == "data and simulation are not added"
    table = str(flow).split("Cutflow of data\n")[1].split("\n\n")[0]
    found = [line.split()[-1] for line in table.splitlines() if " events " in line]
    assert found == ["9", "5", "5"]
    assert table in (result.run_directory / "report.txt").read_text()
