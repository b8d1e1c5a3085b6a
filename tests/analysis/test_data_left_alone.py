"""Columns of data are neither replaced nor varied, unless a job says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import forkrun
from tests.batch.test_datasets import FILL, N_EVENTS, write
from tests.support.jobs import environment
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True, "plots": False}
DATASETS = {
    "data": {"files": "data_1.root", "is_data": True},
    "mc": {"files": "mc_2.root", "cross_section": 1.0, "sum_of_weights": 1.0},
}
X = (np.arange(N_EVENTS) / N_EVENTS).astype(np.float32)
NOTE = "x, Hit_e: replaced and varied in simulation alone; data (data) are left as they are"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    write(tmp_path, "data_1", (), sums=False)
    write(tmp_path, "mc_2", (), sums=False)
    return tmp_path


def job(on_data: bool = False) -> forkrun.Job:
    made = forkrun.Job(DATASETS, source=FILL)
    made.redefine("x", "2 * x", on_data=on_data)
    made.vary("x", "up", by=lambda block: block.x + np.float32(1), on_data=on_data)

    @made.redefine(on_data=on_data)
    def Hit_e(block: Any) -> Any:  # noqa: N802 - the name of a column
        assert on_data or not block.dataset.is_data or len(block) == 0
        return block["Hit_e"] + block["x"] * 0 + 1

    made.define("y", "x + 0")
    made.hist("y", (8, 0, 4)).hist("Hit_e", (100, 0, 100))
    return made


def columns(result: forkrun.Result, label: str) -> dict[str, Any]:
    with uproot.open(result.outputs[label]) as file:
        return dict(file["Events"].arrays(["x", "y", "Hit_e"], library="np"))


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 2])
def test_data_keep_their_columns_in_each_variation(folder: Path, children: int) -> None:
    made = job().output("all", keep=["*", "y"], datasets="together", variations="all")
    result = made.run(children=children, **QUIET)
    before = uproot.open(folder / "data_1.root")["Events"]["Hit_e"].array(library="np")
    for label, shift in (("all", 0), ("all_up_by", 1)):
        held = columns(result, label)
        expected = np.concatenate([X, 2 * X + np.float32(shift)])
        assert held["x"].tolist() == held["y"].tolist() == expected.tolist()
        assert held["Hit_e"].dtype == object
        for n, hits in enumerate(before):
            assert held["Hit_e"][n].tolist() == hits.tolist()
            assert held["Hit_e"][N_EVENTS + n].tolist() == (hits + 1).tolist()
    y = result.histograms["y"]
    nominal, up = y[:, "data", "nominal"].values(), y[:, "data", "up_by"].values()
    assert nominal.tolist() == up.tolist() == np.histogram(X, 8, (0, 4))[0].tolist()
    assert y[:, "mc", "up_by"].values().tolist() == [
        *np.histogram(2 * X + np.float32(1), 8, (0, 4))[0]
    ]


@pytest.mark.slow
def test_it_is_said_in_the_report_and_by_check(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    result = job().run(children=1, **QUIET)
    assert [note for note in result.report["notes"] if note.startswith(NOTE)]
    job().check()
    assert NOTE in capfd.readouterr().out
    text = (result.run_directory / "report.txt").read_text()
    assert "replaced and varied in simulation alone" in text


def test_data_are_varied_where_the_job_says_so(folder: Path) -> None:
    result = (
        job(on_data=True)
        .output("all", keep=["*", "y"], datasets="together")
        .run(children=1, **QUIET)
    )
    assert columns(result, "all")["x"].tolist() == [*(2 * X), *(2 * X)]
    y = result.histograms["y"]
    assert y[:, "data", "up_by"].values().tolist() == y[:, "mc", "up_by"].values().tolist()
    assert result.report["notes"] == []


def test_a_column_of_another_type_has_that_type_in_data_as_well(folder: Path) -> None:
    made = forkrun.Job(DATASETS, source=FILL)

    @made.redefine(produces={"x": "float64"})
    def x(block: Any) -> Any:
        return np.asarray(block.x, np.float64) / 3

    made.output("all", keep=["x"], datasets="together")
    result = made.run(children=1, **QUIET)
    held = uproot.open(result.outputs["all"])["Events"]["x"].array(library="np")
    assert held.dtype == np.float64
    assert held.tolist() == [*X.astype(np.float64), *(X.astype(np.float64) / 3)]


def test_what_functions_read_is_found_out_with_data_and_with_simulation(folder: Path) -> None:
    write(folder, "data_1", ("genWeight",), sums=False)
    made = forkrun.Job(DATASETS, source=FILL)

    @made.define
    def weight(block: Any) -> Any:
        if block.dataset.is_data:
            return np.asarray(block["HLT_New"]) * 3.0
        return np.asarray(block["genWeight"]) * 2.0

    made.hist("x", (1, 0, 1), weight="weight")
    result = made.run(children=1, **QUIET)
    weights = 3.0 * (N_EVENTS / 4), 2.0 * (1.5 * N_EVENTS)
    assert result.histograms["x"].values()[0].tolist() == list(weights)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["data", "mc"])
def test_functions_are_not_called_where_all_events_are_data(folder: Path, name: str) -> None:
    made = forkrun.Job(DATASETS, source=FILL | {"datasets": [name]})

    @made.redefine
    def x(block: Any) -> Any:
        assert not block.dataset.is_data
        return 2 * block.x

    result = made.output("all", keep=["x"], datasets="together").run(children=1, **QUIET)
    held = uproot.open(result.outputs["all"])["Events"]["x"].array(library="np")
    assert held.tolist() == (X if name == "data" else 2 * X).tolist()


def test_a_configuration_says_it_too(folder: Path) -> None:
    made = (
        forkrun.Job(DATASETS, source=FILL)
        .redefine("x", "2 * x")
        .output("all", keep=["x"], datasets="together")
    )
    assert "on_data = false" in made.to_toml()
    (folder / "job.toml").write_text(made.to_toml())
    ended = command("run", "job.toml", "--children", 1, cwd=folder)
    assert ended.code == 0, ended.err
    assert "x: replaced and varied in simulation alone" in ended.err
    held = uproot.open(folder / "job-run/output/all.root")["Events"]["x"].array(library="np")
    assert held.tolist() == [*X, *(2 * X)]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "expression:x", "kind": "producer"}, "on_data = false goes with replaces"),
        ({"type": "cpp:forkrun::Scale", "replaces": ["x"]}, "on_data: for functions and expr"),
    ],
)
def test_what_cannot_leave_data_alone_says_so(entry: dict[str, Any], words: str) -> None:
    from forkrun.config.read import validate

    described = {"label": "a", "on_data": False, **entry}
    with pytest.raises(forkrun.ConfigError, match=words):
        validate({"source": {"files": ["a.root"]}, "modules": [described]}, "job")


def test_a_message_about_a_branch_that_some_files_lack_says_what_to_do(folder: Path) -> None:
    write(folder, "data_1", ("genWeight",), sums=False)
    made = forkrun.Job(DATASETS).hist("x", (1, 0, 1), weight="genWeight")
    with pytest.raises(forkrun.InputError, match=r"this file lacks branch genWeight") as raised:
        made.check()
    assert 'say what it is there: source.branches = { fill = { "genWeight" = 1 } }' in str(
        raised.value
    )
    assert "events.dataset.is_data, if their dataset has is_data = true" in str(raised.value)
