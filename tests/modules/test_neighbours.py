"""Each file of a user has the neighbours of its own folder, however it imports them."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.base.user_code import import_home
from tests.analysis.objects_file import write_objects
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True, "plots": False}


def write(folder: Path, **texts: str) -> Path:
    """Files by name; `__` in a name stands for a folder within."""
    for name, text in texts.items():
        file = folder / (name.replace("__", "/") + ".py")
        file = file.with_name("__init__.py") if file.name == "init.py" else file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "import config_n\nCUT = config_n.CUT",
        "from config_n import CUT",
        "import config_n as c\nCUT = c.CUT",
        "def cut():\n    import config_n\n    return config_n.CUT\nCUT = None",
        "class A:\n    def cut(self):\n        from config_n import CUT\n        return CUT\n"
        "cut = A().cut\nCUT = None",
        "import helpers_n.inner\nCUT = helpers_n.inner.CUT",
        "import helpers_n.inner as h\nCUT = h.CUT",
        "from helpers_n import inner\nCUT = inner.CUT",
        "from helpers_n.inner import CUT",
        "from helpers_n import WHOLE as CUT",
        "import through_n\nCUT = through_n.cut()",
        "def cut():\n    import through_n\n    return through_n.cut()\nCUT = None",
        "from .config_n import CUT",
        "from . import config_n\nCUT = config_n.CUT",
        "from .helpers_n import inner\nCUT = inner.CUT",
        "def cut():\n    from .config_n import CUT\n    return CUT\nCUT = None",
    ],
)
@pytest.mark.parametrize("is_package", [False, True])
def test_two_folders_have_neighbours_of_one_name(
    tmp_path: Path, text: str, is_package: bool
) -> None:
    number = str(abs(hash((text, is_package))))  # other names in each test: modules stay
    text = text.replace("_n", f"_{number}")
    for n, name in enumerate(("muon", "jet", "tau")):
        own = {f"config_{number}": f"CUT = {n}", "cuts": text,
               f"helpers_{number}__init": f"WHOLE = {n}", f"helpers_{number}__inner": f"CUT = {n}",
               f"through_{number}": f"def cut():\n    import config_{number}\n"
                                    f"    return config_{number}.CUT"}  # fmt: skip
        if is_package:
            own["init"] = ""
        write(tmp_path / f"{name}_{number}", **own)
    files = [tmp_path / f"{name}_{number}" / "cuts.py" for name in ("muon", "jet", "tau")]
    modules = [import_home(str(file), "module") for file in files]
    found = [module.CUT if module.CUT is not None else module.cut() for module in modules]
    assert found == [0, 1, 2]
    assert [import_home(str(file), "module") for file in files] == modules


def test_a_file_of_a_package_reaches_what_is_above_it(tmp_path: Path) -> None:
    for n, name in enumerate(("one", "two")):
        write(
            tmp_path / name, analysis__init="", analysis__common=f"CUT = {n}",
            analysis__cuts__init="", analysis__cuts__muon="from ..common import CUT\n",
        )  # fmt: skip
    homes = [tmp_path / name / "analysis/cuts/muon.py" for name in ("one", "two")]
    assert [import_home(str(home), "module").CUT for home in homes] == [0, 1]


def test_objects_of_both_go_through_pickle(tmp_path: Path) -> None:
    for n, name in enumerate(("first", "second")):
        write(tmp_path / name, shapes=f"class Point:\n    VALUE = {n}\n",
              cuts="import shapes\npoint = shapes.Point()\n")  # fmt: skip
    points = [import_home(str(tmp_path / n / "cuts.py"), "m").point for n in ("first", "second")]
    again = pickle.loads(pickle.dumps(points))
    assert [point.VALUE for point in again] == [0, 1]
    assert type(points[0]) is not type(points[1])


def test_the_standard_library_goes_before_a_neighbour(tmp_path: Path) -> None:
    write(tmp_path, random="", cuts="import random\nfound = random.random")
    assert callable(import_home(str(tmp_path / "cuts.py"), "module").found)


def test_a_neighbour_does_not_take_the_name_of_a_library(tmp_path: Path) -> None:
    write(tmp_path, pytest="CUT = 3", cuts="import pytest\nCUT = pytest.CUT")
    assert import_home(str(tmp_path / "cuts.py"), "module").CUT == 3
    write(tmp_path, setuptools="CUT = 5", late="from setuptools import CUT")
    assert import_home(str(tmp_path / "late.py"), "module").CUT == 5
    assert not hasattr(importlib.import_module("setuptools"), "CUT")


CUTS = """
import forkrun
import config

class {name}(forkrun.Filter):
    consumes = ("MET_pt",)
    def filter(self, block):
        import config as again
        return block["MET_pt"] > config.CUT + again.CUT
"""
JOB = """
[source]
files = ["objects.root"]
[[modules]]
type = "python:muon/cuts.py:MuonMet"
[[modules]]
type = "python:jet/cuts.py:JetMet"
[[modules]]
type = "python:beside.inner:Above"
[paths]
muon = ["MuonMet"]
jet = ["JetMet"]
dotted = ["Above"]
[[outputs]]
label = "muon"
paths = ["muon"]
[[outputs]]
label = "jet"
paths = ["jet"]
[[outputs]]
label = "dotted"
paths = ["dotted"]
"""


def test_a_job_of_two_folders_and_a_dotted_module_is_checked_and_run(tmp_path: Path) -> None:
    """MET is 0, 10, … 50 GeV."""
    folder = tmp_path / "job"
    write(folder, muon__config="CUT = 5.0", muon__cuts=CUTS.format(name="MuonMet"),
          jet__config="CUT = 15.0", jet__cuts=CUTS.format(name="JetMet"),
          beside__init="", beside__const="CUT = 45",
          beside__inner="import forkrun\nfrom .const import CUT\n"
          "class Above(forkrun.Filter):\n    def filter(self, block):\n"
          "        from . import const\n        return block['MET_pt'] > const.CUT\n")  # fmt: skip
    write_objects(folder / "objects.root")
    (folder / "job.toml").write_text(JOB)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert command("check", "../job/job.toml", "--strict", cwd=elsewhere).code == 0
    done = command("run", "../job/job.toml", "-o", "run", "--children", 2, cwd=elsewhere)
    assert done.code == 0, done.err
    result = forkrun.Result.read(elsewhere / "run")
    passed = {name: cuts[-1]["n_events"] for name, cuts in result.cutflow.items()}
    assert passed == {"muon": 4, "jet": 2, "dotted": 1}
