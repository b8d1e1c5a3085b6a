"""Outputs and cutflows of systematic variations, compared with jobs of the variation alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

import forkrun as package
from forkrun.errors import ConfigError
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests, write_job

UP = "1.3 * Jet_pt"


def events_in(folder: Path) -> Path:
    return write_events(folder / "a.root", [(1, 1, 70), (1, 2, 50), (2, 1, 60)])


def make_job(folder: Path, **output: Any) -> package.Job:
    job = package.Job(str(events_in(folder)), name="varied")
    job.vary("Jet_pt", "jes", up=UP, down="0.7 * Jet_pt")
    job.define("ht", "sum(Jet_pt)").define("n", "num(Jet_pt)")
    job.define("weight", "1 + 0.5 * n").vary("weight", "trigger", up="2 * weight")
    job.filter("ht > 60")
    job.output("events", **output)
    return job


def plain_job(folder: Path, scale: str) -> Any:
    """Events of a job in which the column is replaced for good."""
    job = package.Job(str(folder / "a.root"), name="plain")
    job.redefine("Jet_pt", scale)
    job.define("ht", "sum(Jet_pt)").define("n", "num(Jet_pt)")
    job.define("weight", "1 + 0.5 * n").filter("ht > 60").output("events")
    result = job.run(children=1, output=folder / f"plain-{scale[:3]}", quiet=True)
    return columns_of(result.outputs["events"])


def columns_of(file: Path) -> Any:
    with uproot.open(file) as root:
        return root["Events"].arrays()


@pytest.mark.slow
def test_outputs_of_variations_hold_what_a_job_of_the_variation_alone_would(tmp_path: Path) -> None:
    job = make_job(tmp_path, variations="all")
    result = job.run(children=2, output=tmp_path / "run", quiet=True)
    names = ["events", "events_jes_up", "events_jes_down", "events_trigger_up"]
    assert list(result.outputs) == names
    for label, scale in (("jes_up", UP), ("jes_down", "0.7 * Jet_pt")):
        found, expected = columns_of(result.outputs[f"events_{label}"]), plain_job(tmp_path, scale)
        assert set(found.fields) == set(expected.fields)
        for name in found.fields:
            assert ak.array_equal(found[name], expected[name]), name
    nominal = columns_of(result.outputs["events"])
    assert (len(nominal), len(columns_of(result.outputs["events_jes_up"]))) == (67, 72)
    trigger = columns_of(result.outputs["events_trigger_up"])
    assert trigger.event.tolist() == nominal.event.tolist()
    assert trigger.weight.tolist() == (2 * nominal.weight).tolist()


@pytest.mark.long
def test_bytes_are_the_same_for_any_layout_and_the_nominal_ones_those_without(
    tmp_path: Path,
) -> None:
    digests = []
    for number, threads in enumerate(({}, {"block_size": 7}, {"per_child": 2})):
        job = make_job(tmp_path, variations=["jes_down"]).configure(threads=threads)
        job.run(children=number + 1, output=tmp_path / f"run-{number}", quiet=True)
        digests.append(output_digests(tmp_path / f"run-{number}"))
    assert set(digests[0]) == {"events.root", "events_jes_down.root"}
    assert digests[1:] == digests[:-1]
    make_job(tmp_path).run(children=1, output=tmp_path / "nominal", quiet=True)
    assert output_digests(tmp_path / "nominal")["events.root"] == digests[0]["events.root"]


def test_all_are_those_in_which_something_is_different(tmp_path: Path) -> None:
    job = make_job(tmp_path, variations="all", keep=["event", "n"])
    job.define("lepton_weight", "1 + 0 * event")
    job.vary("lepton_weight", "trigger", up="2 * lepton_weight")
    job.path("everything").output("all", variations="all", keep=["event", "lepton_weight"])
    result = job.run(children=1, output=tmp_path / "run", quiet=True)
    assert list(result.outputs) == [
        "events", "events_jes_up", "events_jes_down",
        "all", "all_trigger_up",
    ]  # fmt: skip


def test_cutflows_have_a_path_for_each_variation(tmp_path: Path) -> None:
    job = make_job(tmp_path).configure(monitoring={"cutflow_weight": "weight"})
    result = job.run(children=2, output=tmp_path / "run", quiet=True)
    counts = {path: [cut["n_events"] for cut in cuts] for path, cuts in result.cutflow.items()}
    assert counts == {
        "main": [180, 67], "main@jes_up": [180, 72], "main@jes_down": [180, 36],
        "main@trigger_up": [180, 67],
    }  # fmt: skip
    weights = {path: cuts[-1]["sum_weights"] for path, cuts in result.cutflow.items()}
    assert weights["main@trigger_up"] == 2 * weights["main"]


def test_a_finished_run_is_known_again(tmp_path: Path) -> None:
    events = events_in(tmp_path)
    config = {
        "job": {"name": "varied"},
        "source": {"files": [str(events)]},
        "modules": [
            {"label": "up", "type": f"expression:{UP}", "kind": "producer",
             "replaces": ["Jet_pt"], "variation": "jes_up"},
            {"label": "cut", "type": "expression:sum(Jet_pt) > 60", "kind": "filter"},
        ],
        "paths": {"main": ["cut"]},
        "outputs": [{"label": "events", "paths": ["main"], "variations": "all"}],
    }  # fmt: skip
    file = write_job(tmp_path, config)
    ended = forkrun("run", file, "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    before = output_digests(tmp_path / "run")
    assert set(before) == {"events.root", "events_jes_up.root"}
    for again in (["run", file, "-o", "run"], ["resume", "run"]):
        ended = forkrun(*again, cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert "already done" in ended.out + ended.err
    assert output_digests(tmp_path / "run") == before


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"variations": ["jes_upp"]}, '"jes_upp": no module has it; did you mean "jes_up"'),
        ({"variation": "nothing"}, '"nothing": no module has it'),
        (
            {"variations": "all", "variation": "jes_up"},
            "this output belongs to a variation already",
        ),
        ({"variations": "all", "decisions": True}, "decisions are those of the nominal case"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, output: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_job(tmp_path, **output).run(children=1, output=tmp_path / "run", quiet=True)


def test_no_two_outputs_get_one_name(tmp_path: Path) -> None:
    job = make_job(tmp_path, variations="all")
    job.path("other").output("events_jes_up")
    with pytest.raises(ConfigError, match="another output has the name of this one"):
        job.run(children=1, output=tmp_path / "run", quiet=True)


def test_the_name_of_a_variation_leaves_room_for_suffixes_of_files(tmp_path: Path) -> None:
    events = events_in(tmp_path)
    long = "v" * 300
    config = {
        "source": {"files": [str(events)]},
        "modules": [
            {"label": "up", "type": f"expression:{UP}", "kind": "producer",
             "replaces": ["Jet_pt"], "variation": long},
            {"label": "cut", "type": "expression:sum(Jet_pt) > 60", "kind": "filter"},
        ],
        "paths": {"main": ["cut"]},
        "outputs": [{"label": "events", "paths": ["main"], "variations": "all"}],
    }  # fmt: skip
    for command in (["check"], ["run", "-o", "run"]):
        ended = forkrun(command[0], write_job(tmp_path, config), *command[1:], cwd=tmp_path)
        assert ended.code == 2, ended.err
        assert "has 307 bytes; it becomes a name of files" in ended.err
    assert not (tmp_path / "run").exists()


def test_no_output_of_a_variation_gets_the_name_of_a_module(tmp_path: Path) -> None:
    job = make_job(tmp_path, variations="all").define("events_jes_up", "2 * n")
    what = "a module has the label of this output in a variation; give one of them another"
    with pytest.raises(ConfigError) as refused:
        job.run(children=1, output=tmp_path / "run", quiet=True)
    (problem,) = refused.value.problems
    assert problem.endswith(f'outputs "events_jes_up": {what}')
