"""Profiles of several axes, partial functions, modules that declare, generators that are copied."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import hist
import numpy as np
import pytest
import uproot

import forkrun
from forkrun.modules.program.dependence import code_digest
from tests.analysis.objects_file import N_MUONS, write_objects
from tests.support.jobs import environment
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True, "plots": False}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return write_objects(tmp_path / "objects.root")


AXES = {
    "met": hist.axis.Regular(4, 0, 40, name="met", label="met"),
    "n": hist.axis.Variable([0, 1, 2.5, 4], name="n", label="n"),
    "kind": hist.axis.StrCategory(["few", "many"], name="kind", label="kind"),
    "code": hist.axis.IntCategory([0, 2], name="code", label="code"),
}


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("axes", [("met",), ("met", "n"), ("kind", "met"), ("n", "code", "met")])
@pytest.mark.parametrize("storage", ["Mean", "WeightedMean"])
def test_a_profile_of_any_axes_is_read_as_it_was_filled(
    file: Path, axes: tuple[str, ...], storage: str
) -> None:
    columns = uproot.open(file)["Events"].arrays(["MET_pt", "genWeight"], library="np")
    n = np.array(N_MUONS)
    values = {"met": columns["MET_pt"], "n": n, "code": n, "kind": np.where(n > 1, "many", "few")}
    given: dict[str, Any] = {"sample": columns["genWeight"] + 1}
    if storage == "WeightedMean":
        given["weight"] = columns["genWeight"]
    made = hist.Hist(*(AXES[a] for a in axes), storage=getattr(hist.storage, storage)())

    def fill(block: Any, p: Any) -> None:
        assert len(block) == len(n)
        p.fill(*(values[a] for a in axes), **given)

    job = forkrun.Job(file, forking={"min_unit_events": 10})
    job.analyzer(fill, p=made)
    result = job.run(children=0, **QUIET)
    found = result.histograms["p"]
    right = made.copy().fill(*(values[a] for a in axes), **given)
    assert [axis.name for axis in found.axes] == list(axes)
    for name in right.view(flow=True).dtype.names:
        one, other = found.view(flow=True)[name], right.view(flow=True)[name]
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9), name


def above(block: Any, cut: float) -> Any:
    return block["MET_pt"] > cut


class Cut:
    def __init__(self, cut: float) -> None:
        self.cut = cut

    def passes(self, block: Any) -> Any:
        return block["MET_pt"] > self.cut


@pytest.mark.slow
@pytest.mark.parametrize("children", [0, 1])
def test_partial_functions_and_methods_are_functions(file: Path, children: int) -> None:
    job = forkrun.Job(file)
    for name, function in {
        "first": functools.partial(above, cut=15),
        "second": functools.partial(functools.partial(above), cut=35),
        "method": Cut(25).passes,
    }.items():
        job.path(name).filter(function, label=name)
        twice = functools.partial(lambda events, f: f * events["MET_pt"], f=2)
        job.path(name).hist(twice, (1, 0, 200), name="x")
    job.hist(lambda e: e["MET_pt"], (1, 0, 200), name="w", weight=functools.partial(above, cut=15))
    found = job.run(children=children, **QUIET).histograms
    sums = {name: found[f"{name}_x/x"].sum().value for name in ("first", "second", "method")}
    assert sums == {"first": 4, "second": 2, "method": 3}
    assert found["w"].sum().value == 4


def test_a_partial_has_the_name_of_its_function_and_a_digest_of_its_arguments(file: Path) -> None:
    job = forkrun.Job(file)
    job.filter(functools.partial(above, cut=15))
    assert job.labels == ["above"]
    digests = {code_digest(functools.partial(above, cut=cut)) for cut in (15, 15, 16)}
    digests |= {code_digest(Cut(cut).passes) for cut in (15, 16)}
    assert len(digests) == 4
    wrong = forkrun.Job(file)
    wrong.filter(functools.partial(above, cut=15), cutt=3)
    with pytest.raises(forkrun.ConfigError, match="above has no parameter 'cutt'"):
        wrong.run(children=0, **QUIET)


@pytest.mark.parametrize("distribution", ["contiguous", "round-robin"])
def test_children_of_a_call_are_enough_for_a_distribution(file: Path, distribution: str) -> None:
    job = forkrun.Job(file, forking={"distribution": distribution})
    job.filter("MET_pt >= 10").output("events", keep=["MET_pt"])
    result = job.run(children=2, **QUIET)
    assert result.report["events"]["n_events_read"] == 6
    with pytest.raises(forkrun.ConfigError, match="give a number"):
        job.run(**QUIET)


def test_a_module_that_declares_gets_the_arrays_of_the_job_in_the_trial(file: Path) -> None:
    """Compiled code takes no arrays whose columns are read when they are touched."""
    nb = pytest.importorskip("numba")

    @nb.njit
    def sums(muons: Any) -> Any:
        out = np.zeros(len(muons))
        for i, event in enumerate(muons):
            for muon in event:
                out[i] += muon.pt
        return out

    job = forkrun.Job(file)
    fields = ("Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass")

    @job.producer(consumes=fields, produces={"sum_pt": "float64"})
    def total(block: Any) -> Any:
        return {"sum_pt": sums(block.Muon)}

    job.hist("sum_pt", (1, 0, 1000))
    assert job.run(children=0, **QUIET).histograms["sum_pt"].sum().value == 6


RANDOM = """
import random
import numpy as np
import forkrun

SHARED = np.random.RandomState(3)

class Smear(forkrun.Producer):
    consumes = ("MET_pt",)
    produces = {{"u": "float64"}}
    def __init__(self):
        self._own = np.random.default_rng(42)
        self.many = {{"a": [1], "rng": random.Random(1)}}
        self.used = random.Random(2).random()

    def produce(self, block):
        n = len(block)
        return {{"u": {draw}}}
"""
DRAWS = {
    "self._own.normal(size=n)": 'module "Smear": self._own is a generator of random numbers',
    "np.full(n, self.many['rng'].random())": "self.many['rng'] is a generator",
    "SHARED.uniform(size=n)": 'module "Smear": the global SHARED is a generator',
    "np.random.uniform(size=n)": "a module draws from numpy.random, which is a generator",
    "np.full(n, random.random())": "a module draws from random, which is a generator",
    "block.random.uniform()": "",
    "np.full(n, self.used)": "",
}


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("draw", DRAWS)
def test_generators_that_children_copy_are_named(
    file: Path, tmp_path: Path, draw: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "smear.py").write_text(RANDOM.format(draw=draw))
    module = {"label": "Smear", "type": f"python:{tmp_path / 'smear.py'}:Smear"}
    config = tmp_path / "job.toml"
    config.write_text(
        f'[source]\nfiles = ["{file}"]\n[[modules]]\nlabel = "Smear"\ntype = "{module["type"]}"\n'
        '[[outputs]]\nlabel = "events"\nkeep = ["u"]\n'
    )
    loaded = forkrun.load(config)
    loaded.check()
    said = "".join(capfd.readouterr())
    result = loaded.run(children=1, **QUIET)
    warnings = "\n".join(result.report["warnings"])
    for text in (said, warnings):
        assert (DRAWS[draw] in text) if DRAWS[draw] else ("is a generator" not in text)
        assert bool(DRAWS[draw]) == ("use events.random" in text)


def test_a_program_taken_by_a_command_has_the_annotations_that_it_has_by_itself(
    file: Path, tmp_path: Path
) -> None:
    (tmp_path / "analysis.py").write_text(
        "import forkrun\nclass Cut:\n    least: int\n"
        "assert Cut.__annotations__ == {'least': int}, Cut.__annotations__\n"
        "job = forkrun.Job('objects.root')\njob.hist('MET_pt', (5, 0, 100))\n"
    )
    ended = command("check", "analysis.py", cwd=tmp_path)
    assert ended.code == 0, ended.err


class _Cut(forkrun.Filter):
    def filter(self, events: Any) -> Any:
        return events["MET_pt"] > 1


class _Plain:
    pass


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda job: job.add(_Cut), '"cpp:CLASS", not the class _Cut; write job.filter(_Cut)'),
        (lambda job: job.add(lambda events: 1), "not a lambda; job.filter, job.producer and job."),
        (lambda job: job.add("MET_pt > 1"), "not 'MET_pt > 1' (str); job.filter, job.producer"),
        (lambda job: job.analyzer(_Cut), "not the class _Cut; write job.filter(_Cut)"),
        (lambda job: job.filter(_Cut()), "not an object of the class _Cut; give the class, and"),
        (lambda job: job.hist(_Plain, (9, 0, 1)), "a function, not the class _Plain"),
        (lambda job: job.filter(None), "forkrun.Filter, not None"),
        (lambda job: job.filter(" "), "forkrun.Filter, not ' ' (str)"),
        (lambda job: job.define(None, "MET_pt"), "name takes a text, not None"),
        (lambda job: job.define(_Plain()), "not an object of the class _Plain"),
        (lambda job: job.define(lambda events: 1), 'no name; give it one: job.define("NAME", …)'),
        (lambda job: job.producer(lambda events: 1), 'no name; give it one: label="…"'),
        (lambda job: job.analyzer("MET_pt"), "forkrun.Analyzer, not 'MET_pt' (str)"),
    ],
)  # fmt: skip
def test_what_is_no_step_is_refused_with_what_it_is(build: Any, message: str) -> None:
    with pytest.raises(forkrun.ConfigError) as error:
        build(forkrun.Job("events.root"))
    assert message in str(error.value)
