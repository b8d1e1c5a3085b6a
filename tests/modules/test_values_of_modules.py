"""What a program sets before it runs its job counts in every process of the job."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uproot

from forkrun.modules.program.code_uses import globals_in
from forkrun.modules.program.encoded import decode, encode
from forkrun.modules.program.own_code import own_file
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import Ended, environment, forkrun, program

CUTS = """\
import os, pathlib, sys
import awkward as ak
import forkrun

CUT = 10.0
CONFIG = {"cut": 10.0, "years": [2016]}
_hidden = 10.0
MISSING = object()

class Selection:
    cut = 10.0

class Settings:
    def __init__(self): self.cut = 10.0

settings = Settings()

def configure(cut):
    global _hidden
    _hidden = cut

def allowed(met, least=MISSING):
    assert least is MISSING  # the very object
    return met > 10.0

def by_name(block): return block["MET_pt"] > CUT
def by_key(block): return block["MET_pt"] > CONFIG["cut"]
def by_hidden(block): return block["MET_pt"] > _hidden
def by_class(block): return block["MET_pt"] > Selection.cut
def by_object(block): return block["MET_pt"] > settings.cut
def by_attribute(block): return block["MET_pt"] > by_attribute.cut
by_attribute.cut = 10.0
def by_patched(block): return allowed(block["MET_pt"])
def by_argument(block): return block["MET_pt"] > float(sys.argv[1])
def by_environment(block): return block["MET_pt"] > float(os.environ["CUT"])
def by_folder(block): return block["MET_pt"] > float(pathlib.Path("cut.txt").read_text())
def by_other(block):
    import later
    return block["MET_pt"] > later.CUT
def by_behavior(block):
    made = ak.zip({"pt": block["MET_pt"]}, with_name="Met")
    return made.passes

class ByClass(forkrun.Filter):
    consumes = ("MET_pt",)
    def filter(self, block): return block["MET_pt"] > CUT
"""
PROGRAM = """\
import os, sys
import awkward as ak
import forkrun
import cuts, later

class Met(ak.Record):
    pass

class Mets(ak.Array):
    @property
    def passes(self): return self.pt > 20

file = os.path.abspath("sample.root")
cuts.CUT = later.CUT = cuts.CONFIG["cut"] = cuts.Selection.cut = cuts.settings.cut = 20.0
cuts.by_attribute.cut = 20.0
cuts.configure(20.0)
cuts.allowed = lambda met: met > 20
ak.behavior["*", "Met"] = Mets
sys.argv[1:] = ["20"]
os.environ["CUT"] = "20"
os.chdir("elsewhere")

if __name__ == "__main__":
    for children in (0, 1, 2):
        job = forkrun.Job(file, name="m")
        for what in (*(value for name, value in vars(cuts).items() if name[:3] == "by_"),
                     cuts.ByClass):
            path = job.path(what.__name__)
            path.filter(what)
            path.hist("MET_pt", (5, 0, 200), name=what.__name__)
        result = job.run(children=children, output=f"../run{children}", quiet=True, plots=False)
        print({k: int(v.values(flow=True).sum()) for k, v in result.histograms.items()})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cuts.py").write_text(CUTS)
    (tmp_path / "later.py").write_text("CUT = 10.0\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "cut.txt").write_text("20")
    write_sample(tmp_path / "sample.root", SampleSettings(400, 1, 2))
    return tmp_path


def n_above(folder: Path, cut: float) -> int:
    with uproot.open(folder / "sample.root") as file:
        return int((file["Events"]["MET_pt"].array(library="np") > cut).sum())


@pytest.mark.slow
def test_what_a_program_has_set_holds_with_any_number_of_children(folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAM)
    words = [sys.executable, "program.py"]  # no fork of one that has behaviors of Awkward already
    ended = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line.replace("'", '"')) for line in ended.stdout.splitlines()]
    names = [line.split("(")[0][4:] for line in CUTS.splitlines() if line.startswith("def by_")]
    assert lines == [dict.fromkeys([*names, "ByClass"], n_above(folder, 20))] * 3
    assert n_above(folder, 20) != n_above(folder, 10)


SMALL = """\
import sys
import forkrun
import small

small.CUT = {value}
job = forkrun.Job("sample.root", name="m", merge={{"enabled": {merges}}})
job.filter(small.passes)
job.hist("MET_pt", (5, 0, 200))
if __name__ == "__main__":
    try:
        result = job.run(children={children}, output="run", plots=False)
        print(int(result.histograms["MET_pt"].values(flow=True).sum()))
    except forkrun.ForkrunError as error:
        print(type(error).__name__, error)
"""
PASSES = """\
CUT = {}
def passes(block): return block["MET_pt"] > float(CUT)
"""


def test_a_value_that_cannot_be_handed_over_is_named(folder: Path) -> None:
    (folder / "small.py").write_text(PASSES.format("10.0"))
    value = "__import__('threading').Lock()"
    written = SMALL.format(value=value, children=1, merges=True)
    (folder / "program.py").write_text(written)
    out = program("program.py", cwd=folder).out
    assert "ConfigError" in out
    assert "small.CUT: the program that runs this job has set it to a value that no" in out


@pytest.mark.slow
def test_a_job_is_resumed_only_with_the_same_values(folder: Path) -> None:
    def ran(value: float, children: int, merges: bool = True) -> Ended:
        written = SMALL.format(value=value, children=children, merges=merges)
        (folder / "program.py").write_text(written)
        return program("program.py", cwd=folder)

    (folder / "small.py").write_text(PASSES.format("10.0"))
    ran(20, 1, merges=False)
    out = ran(30, 1).out
    assert "OutputError" in out
    assert f"code: {folder}/small.py:CUT" in out
    for children in (1, 0):  # the second finds the job done
        assert ran(20, children).out.splitlines()[-1] == str(n_above(folder, 20))
    ended = ran(30, 1)
    assert ended.out.splitlines()[-1] == str(n_above(folder, 30))
    assert "computing 1 histogram again (changed: filter passes)" in ended.err
    ended = forkrun("run", folder / "run" / "config.json", "-o", "other", cwd=folder)
    assert ended.code == 2
    assert f"{folder}/small.py:CUT: the program that runs this job has set a value" in ended.err


@pytest.mark.slow
def test_a_configuration_that_a_program_loads_gets_the_values_too(folder: Path) -> None:
    (folder / "job.toml").write_text(
        '[source]\nfiles = ["sample.root"]\n[[modules]]\ntype = "python:cuts.py:ByClass"\n'
        '[[modules]]\nlabel = "h"\ntype = "expression:MET_pt"\nkind = "histogram"\n'
        'axes = [{ bins = 5, low = 0, high = 200 }]\n[paths]\np = ["ByClass", "h"]\n'
    )
    (folder / "program.py").write_text(
        "import cuts, forkrun\ncuts.CUT = 20.0\nfor n in (0, 1):\n"
        "    r = forkrun.load('job.toml').run(n, output=f'run{n}', quiet=True, plots=False)\n"
        "    print(int(r.histograms['h'].values(flow=True).sum()))\n"
    )
    ended = program("program.py", cwd=folder)
    assert ended.out.split() == [str(n_above(folder, 20))] * 2, ended.err


def test_values_come_back_as_they_were() -> None:
    for value in (1, "a", None, {"a": [1]}, np.float32(2), np, len, json.JSONDecodeError):
        assert decode(encode(value)) == value
    assert encode(sys.stdout)[0] == "type"


def test_an_attribute_of_the_name_of_a_global_is_no_value_that_a_function_uses() -> None:
    namespace: dict[str, object] = {"MET": object(), "CUT": 10}
    exec("f = lambda events: events.MET > CUT\ndef g(): return MET", namespace)
    codes = [getattr(namespace[name], "__code__") for name in ("f", "g")]  # noqa: B009
    assert [globals_in(code) for code in codes] == [{"CUT"}, {"MET"}]


def test_a_folder_of_installed_packages_on_the_import_path_is_not_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("libraries/tool-1.0.dist-info", "mine"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "libraries/tool_of_a_library.py").write_text("CUT = 1\n")
    (tmp_path / "mine/cuts_of_mine.py").write_text("CUT = 1\n")
    for folder in ("libraries", "mine"):
        monkeypatch.syspath_prepend(tmp_path / folder)
    for name in ("tool_of_a_library", "cuts_of_mine"):
        monkeypatch.setitem(sys.modules, name, importlib.import_module(name))
    assert own_file("tool_of_a_library") is None
    assert own_file("cuts_of_mine") == str(tmp_path / "mine/cuts_of_mine.py")
