"""Modules in Python: how they are loaded, and the messages about those that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forkrun.conditions import Conditions
from forkrun.errors import ConfigError
from forkrun.modules.base import Analyzer
from forkrun.modules.block import EventBlock
from forkrun.modules.loading import construct, find_class
from forkrun.modules.python_module import PythonModule

SOURCE = """
import forkrun

class Cut(forkrun.Filter):
    consumes = ("Jet_pt",)

    def __init__(self, pt_min: float = 30.0, n: int = 2) -> None:
        self.pt_min = pt_min
        self.n = n
        self.scale = self.conditions["scale"]

    def filter(self, block):
        return block.events > 0

class NoComma(forkrun.Filter):
    consumes = ("Jet_pt")

    def filter(self, block):
        return block.events > 0

class NoTypes(forkrun.Producer):
    produces = ("Jet_px",)

    def produce(self, block):
        return {}

class Stranger:
    pass

class Breaks(forkrun.Filter):
    def __init__(self) -> None:
        raise OSError("no such correction")

    def filter(self, block):
        return block.events > 0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "user.py"
    path.write_text(SOURCE)
    return path


def load(file: Path, name: str, **params: Any) -> PythonModule:
    where, conditions = 'module "m"', Conditions.of_values({"scale": 1.5})
    return construct(find_class(f"{file}:{name}", where), params, conditions, where)


def test_a_module_gets_its_parameters_and_conditions(file: Path) -> None:
    module: Any = load(file, "Cut", pt_min=20).module
    assert (module.pt_min, module.n, module.scale) == (20.0, 2, 1.5)
    with pytest.raises(TypeError):
        module.conditions["scale"] = 2


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("Cut", {"pt_mn": 3}, "no parameter 'pt_mn'"),
        ("Cut", {"n": "many"}, "parameter 'n' of Cut"),
        ("Cutt", {}, "no class 'Cutt'"),
        ("Stranger", {}, "Stranger is not a forkrun.Producer, Filter or Analyzer"),
        ("NoComma", {}, "write ('Jet_pt',)"),
        ("NoTypes", {}, "`produces` is a dict"),
        ("Breaks", {}, "OSError: no such correction"),
    ],
)
def test_what_is_wrong_is_said_with_the_module(
    file: Path, name: str, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(file, name, **params)
    assert message in str(error.value)
    assert 'module "m"' in str(error.value)


def test_an_error_in_a_user_file_is_said_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import math\n\nmath.no_such_function()\n")
    with pytest.raises(ConfigError) as error:
        load(file, "Any")
    assert f"({file}, line 3: math.no_such_function())" in str(error.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="file not found"):
        load(tmp_path / "nowhere.py", "Any")


def test_files_of_one_name_do_not_clash_and_import_their_siblings(tmp_path: Path) -> None:
    for name, value in (("a", 1), ("b", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"sibling_{name}.py").write_text(f"value = {value}\n")
        text = f"import forkrun\nimport sibling_{name}\n\n"
        text += f"class Cut(forkrun.Filter):\n    value = sibling_{name}.value\n"
        text += "    def filter(self, block): pass\n"
        (folder / "cuts.py").write_text(text)
    loaded = [load(tmp_path / name / "cuts.py", "Cut").module for name in "ab"]
    assert [module.value for module in loaded] == [1, 2]  # type: ignore[attr-defined]


def test_the_names_of_a_module_are_those_of_its_own_code() -> None:
    """Not those of the class that it derives from: a column that has such a name is not read."""

    class Own(Analyzer):
        def analyze(self, block: EventBlock) -> None:
            block["MET_pt"]

    names = PythonModule(Own()).names()
    assert "MET_pt" in names
    assert not [name for name in names if "histogram" in name or "accumulate" in name]
