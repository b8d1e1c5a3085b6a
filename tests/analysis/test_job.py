"""Jobs that are built in Python: what they give, and what becomes of their functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import pytest
import uproot

import forkrun
from forkrun.modules.program.dependence import code_digest
from forkrun.schedule.trial.find_reads import mentions
from tests.analysis.objects_file import N_MUONS, write_objects
from tests.support.jobs import environment
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True, "plots": False}


CIRCLE = hist.axis.Regular(2, 0, 1, circular=True)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return write_objects(tmp_path / "objects.root")


def analysis(file: Path, least: float = 10.5) -> forkrun.Job:
    """Everything that a job can have, with functions that close over a local variable."""
    job = forkrun.Job(file, forking={"distribution": "lumi"})
    job.define("ht", "sum(Jet_pt)")

    @job.define
    def n_good(block: Any) -> Any:
        return ak.sum(block.Muon.pt > least, axis=1)

    @job.producer
    def leading(block: Any) -> Any:
        pt = ak.fill_none(ak.max(block.Muon.pt, axis=1), -1)
        return {"leading_pt": pt, "good_pt": block.Muon.pt[block.Muon.pt > least]}

    job.hist("ht", (10, 0, 500))
    job.filter("n_good >= 1")

    @job.filter(most=45.0)
    def quiet(block: Any, most: float) -> Any:
        return block.MET.pt < most

    @job.analyzer(filled=hist.Hist(hist.axis.Regular(5, 0, 50, name="x")))
    def met(block: Any, filled: Any) -> None:
        filled.fill(block.selected.MET.pt)

    @job.hist((10, 10, 20), weight="genWeight")
    def muon_pt(events: Any) -> Any:
        return events.good_pt

    job.hist("(Muon.pt, Muon.eta)", (2, 0, 100), hist.axis.Variable([-1, 0, 1]), name="plane")
    job.path("jets").filter("num(Jet_pt) >= 2").hist("max(Jet_pt)", (10, 100, 110), name="jet")
    return job.output("events", keep=["run", "luminosityBlock", "event", "leading_pt"])


def check(result: forkrun.Result) -> None:
    """Muons of an event are 10, 11 | – | 12 | 13, 14, 15 | 16, 17 | 18, 19 GeV; MET is 0, 10, …"""
    histograms = result.histograms
    assert sorted(histograms) == ["filled", "ht", "jet", "muon_pt", "plane"]
    assert len(histograms) == 5
    assert histograms["ht"].sum(flow=True).value == 6
    assert histograms["met/filled"].values().tolist() == [1, 0, 1, 1, 1]
    assert histograms["muon_pt"].values().tolist() == [0, 1, 3, 4, 4, 4, 5, 5, 0, 0]
    assert histograms["plane"].values().sum() == 2 + 1 + 3 + 2
    assert histograms["jet"].values().tolist() == [0, 0, 1, 0, 1, 0, 0, 1, 0, 0]
    with pytest.raises(KeyError, match='unknown histogram "hT"; did you mean "ht"'):
        histograms["hT"]
    with uproot.open(result.outputs["events"]) as opened:
        assert opened["Events"]["event"].array().tolist() == [1, 3, 4, 5]
        assert opened["Events"]["leading_pt"].array().tolist() == [11, 12, 15, 17]


@pytest.mark.long
def test_functions_that_only_this_program_has_run_in_a_clean_parent(file: Path) -> None:
    result = analysis(file).run(children=2, **QUIET)
    check(result)
    assert result.run_directory.name == "job-run"
    before = result.report["job"]
    again = analysis(file).run(children=2, **QUIET)
    assert again.report["job"] == before  # it was done already
    changed = analysis(file, least=12.5).run(children=2, **QUIET)
    with uproot.open(changed.outputs["events"]) as opened:
        assert opened["Events"]["event"].array().tolist() == [4, 5]


def test_without_children_it_is_the_same(file: Path) -> None:
    check(analysis(file).run(children=0, **QUIET))


SCRIPT = """
import forkrun
import helpers

FACTOR = 2
job = forkrun.Job("objects.root", forking={"distribution": "lumi"})

@job.define
def twice(block):
    return helpers.times(block.MET.pt, FACTOR)

@job.filter
class Late(forkrun.Filter):
    def __init__(self, first: int = 3) -> None:
        self.first = first

    def filter(self, block):
        return block["event"] >= self.first

job.hist("twice", (10, 0, 100))
print(job.run(children=1, quiet=True, plots=False).histograms["twice"].values().tolist())
"""


@pytest.mark.slow
def test_a_program_is_run_and_resumed_as_a_file_or_as_text(file: Path, tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def times(x, n):\n    return n * x\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    for arguments in (["script.py"], ["-c", SCRIPT]):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment(), text=True,
            capture_output=True, check=True,
        )  # fmt: skip
        assert done.stdout == "[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]\n"
        if arguments[0] == "script.py":
            ended = command("run", "job-run/config.json", "-o", "other", "-q", cwd=tmp_path)
            assert ended.code == 2
            assert "twice is a function of the program" in ended.err
            assert "script.py that runs this job; run that program again" in ended.err
            (tmp_path / "job-run").rename(tmp_path / "first")


def test_a_job_of_a_module_is_a_configuration(file: Path, tmp_path: Path) -> None:
    (tmp_path / "cuts.py").write_text(
        "def soft(block, most=45.0):\n    return block.MET.pt < most\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        import cuts  # type: ignore[import-not-found]

        job = forkrun.Job(file, name="soft", forking={"distribution": "lumi"})
        assert job.filter(cuts.soft, most=25.0) is cuts.soft
        job.hist("MET_pt", (10, 0, 100), weight="genWeight").output("few", drop=["Jet_*"])
        (tmp_path / "soft.toml").write_text(job.to_toml())
        here = job.run(children=0, **QUIET)
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("cuts", None)
    there = forkrun.load("soft.toml").run(children=0, output="there", **QUIET)
    for result in (here, there):
        assert result.histograms["MET_pt"].values().tolist() == [1, 2, 3, 0, 0, 0, 0, 0, 0, 0]
    assert here.outputs["few"].read_bytes() == there.outputs["few"].read_bytes()
    with pytest.raises(forkrun.ConfigError, match=r"only this program has n_good \(.*, line \d+\)"):
        analysis(file).to_toml()


TOML = """
[source]
files = ["objects.root"]
[[modules]]
type = "python:mine.py:Soft"
[[modules]]
type = "python:mine.py:good"
kind = "filter"
params = { most = 25.0 }
[[modules]]
label = "plot"
type = "expression:MET_pt"
kind = "histogram"
name = "met"
axes = [{ bins = 10, low = 0, high = 100 }]
[paths]
main = ["Soft", "good", "plot"]
"""
MINE = """
import forkrun

class Soft(forkrun.Filter):
    def filter(self, block):
        return block["MET_pt"] < 45

def good(block, most):
    return block.MET.pt < most
"""


def test_a_label_follows_from_the_name_of_a_class_or_function(file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "job.toml").write_text(TOML)
    result = forkrun.load("job.toml").run(children=0, **QUIET)
    assert list(result.histograms) == ["met"]
    assert result.histograms["met"].values()[:3].tolist() == [1, 1, 1]
    (tmp_path / "twice.toml").write_text(TOML.replace("mine.py:good", "mine.py:Soft"))
    with pytest.raises(forkrun.ConfigError, match="no name follows from the type, or another"):
        forkrun.load("twice.toml")
    (tmp_path / "kind.toml").write_text(TOML.replace('kind = "filter"\n', ""))
    with pytest.raises(forkrun.ConfigError, match='good is a function; say what it is: kind = "f'):
        forkrun.load("kind.toml").run(children=0, **QUIET)


def test_a_module_behind_a_filter_that_leaves_nothing_still_runs(file: Path) -> None:
    job = forkrun.Job(file, forking={"distribution": "lumi"})
    job.filter("event > 1000")

    @job.hist((10, 0, 100))
    def leading(events: Any) -> Any:
        return events.Muon.pt[:, 0]

    result = job.run(children=0, **QUIET)
    assert result.histograms["leading"].sum(flow=True).value == 0


@pytest.mark.slow
def test_functions_read_conditions_and_fill_any_axes(file: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.json").write_text('{"factor": 2}')
    scale = {"label": "scale", "type": "json", "file": "scale.json"}
    job = forkrun.Job(file, forking={"distribution": "lumi"}, conditions=[scale])
    job.filter("genWeight > 1")

    @job.hist(hist.axis.Regular(10, 0, 100, name="x", label="twice MET"), weight="genWeight")
    def twice(events: Any) -> Any:
        return events.conditions["scale"]["factor"] * events.MET.pt

    @job.hist(hist.axis.StrCategory(["few", "many"]), {"start": 0, "stop": 4})
    def numbers(events: Any) -> Any:
        n = ak.to_numpy(ak.num(events.Muon))
        return np.where(n > 1, "many", "few"), n

    result = job.run(children=1, **QUIET)
    assert result.histograms["twice"].values().tolist() == [0, 0, 2, 0, 3, 0, 4, 0, 5, 0]
    assert result.histograms["numbers"].values().tolist() == [[1, 1, 0, 0], [0, 0, 2, 1]]


def test_what_is_declared_is_all_that_can_be_read(file: Path) -> None:
    job = forkrun.Job(file, forking={"distribution": "lumi"})
    job.filter(lambda block: block.Muon.eta[:, :1] > 0, label="eta", consumes=["Muon_pt"])
    with pytest.raises(forkrun.JobError, match="does not read Muon_eta: name it in `consumes`"):
        job.run(children=0, **QUIET)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda job: job.filter("nMuonn > 1"), 'nor a module has "nMuonn"'),
        (lambda job: job.filter("MET_pt >"), "'MET_pt >' is not an expression"),
        (lambda job: job.filter(lambda b: 1 / 0, label="bad"), "ZeroDivisionError: division by"),
        (lambda job: job.define("x", lambda b: b.Muon), "column 'x': these are records"),
        (lambda job: job.define("x", "argmax(Jet_pt)"), "column 'x' has missing values"),
        (lambda job: job.hist("MET_pt + 1", (10, 0, 1)), "has no name; give it one"),
        (lambda job: job.hist("MET_pt", CIRCLE), "job.hist takes (bins, low, high)"),
        (lambda job: job.define("x", "MET_pt").define("x", "MET_phi"), '"x" is defined twice'),
        (lambda job: job.configure(forkin={"children": 1}), 'did you mean "forking"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(file: Path, build: Any, message: str) -> None:
    job = forkrun.Job(file, forking={"distribution": "lumi"})
    with pytest.raises(forkrun.ForkrunError) as error:
        _build_and_run(job, build)
    assert message in str(error.value)


def _build_and_run(job: forkrun.Job, build: Any) -> None:
    build(job)
    job.run(children=0, **QUIET)


def test_what_cannot_be_handed_over_is_named(file: Path) -> None:
    opened = file.open("rb")
    job = forkrun.Job(file)
    job.filter(lambda block: block.MET.pt > opened.fileno(), label="opened")
    with pytest.raises(forkrun.ConfigError, match=r"opened \(.*, line \d+\): it uses a value that"):
        job.run(children=1, **QUIET)
    opened.close()


def test_a_digest_is_of_what_a_function_does() -> None:
    def made(factor: float, comment: str = "") -> Any:
        text = (
            f"{comment}\ndef f(x):\n    return helper(x) * {{'a', 'b', 'c'}}.__len__() * factor\n"
        )
        names: dict[str, Any] = {"factor": factor, "helper": lambda x: x, "other": 1}
        exec(text, names)
        return names["f"]

    assert code_digest(made(1)) == code_digest(made(1, "# a comment\n"))
    assert code_digest(made(1)) != code_digest(made(2))
    assert code_digest(np.arange(3)) != code_digest(np.arange(4))
    code = "from forkrun.modules.program.dependence import code_digest\n"
    code += "print(code_digest(lambda x: x in {'a', 'b', 'c', 'd'}))"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env=environment(PYTHONHASHSEED=seed), text=True,
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(digests) == 1


def test_what_a_job_read_is_in_its_configuration_as_given(file: Path) -> None:
    job = forkrun.Job(file, source={"max_events": len(N_MUONS)})
    job.hist("MET_pt", (10, 0, 100))
    described = job.config.as_json()
    assert described["source"]["files"] == [str(file)]
    assert described["modules"][0]["type"] == "expression:MET_pt"
    assert repr(job) == "Job(1 file, 1 module, 1 path)"


@pytest.mark.parametrize(
    ("names", "is_mentioned"),
    [
        ({"Muon_pt"}, True),
        ({"Muon", "pt"}, True),
        ({"_pt", "collection"}, True),
        ({"Muon_"}, True),
        ({"n_events", "until", "ht"}, False),
        (set(), False),
    ],
)
def test_a_class_that_mentions_no_column_is_not_tried(names: set[str], is_mentioned: bool) -> None:
    assert mentions(names, ["Muon_pt", "MET_pt", "event"]) is is_mentioned


def test_a_line_that_moves_makes_no_other_job(file: Path) -> None:
    """Expressions know the line of the program that adds them, for messages alone."""
    how: Any = {"children": 0, "quiet": True, "plots": False}
    first, moved = forkrun.Job(file), forkrun.Job(file)
    first.hist("Muon_pt[0]", (9, 0, 90), name="first", weight="genWeight")
    moved.hist("Muon_pt[0]", (9, 0, 90), name="first", weight="genWeight")
    assert "place" not in first.to_toml()
    lines = [job.config.modules[0].place for job in (forkrun.Job(file).filter("nMuon > 1"), moved)]
    assert [Path(place[0]).name for place in lines if place] == ["test_job.py"] * 2
    first.run(output=file.parent / "first", **how)
    moved.run(output=file.parent / "moved", **how)
    prints = [(file.parent / run / "fingerprint.json").read_text() for run in ("first", "moved")]
    assert prints[0] == prints[1]
