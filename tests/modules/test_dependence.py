"""The digest of what code depends on knows every place at which a program can have a value."""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.program.dependence import (
    Dependence,
    code_digest,
    dependence_of,
    together,
    used_values,
)
from forkrun.modules.program.own_code import put_into_libraries
from tests.support.edits import OF_ALL, SEES_HELPERS, write_program
from tests.support.forks import in_processes
from tests.support.places import CODE, SHARED

LOW, HIGH = 2, 5
EVENTS = {"Jet_pt": [[1.0, 2.0], [3.0]]}
_OUT_OF_PYTHON = frozenset(("precision", "package_edited", "package", "awkward_array"))
"""Places that depend on what others do to packages."""

Found = dict[str, tuple[str, str, list[str]]]
"""By place: what the function gives, its digest, and what has none."""


def loaded_program(folder: Path) -> dict[str, Any]:
    """The names of a program that has been run as one, in a process of its own."""
    for name in ("helpers", "deeper", "kit", "kit.parts", "kit.deeper"):
        sys.modules.pop(name, None)
    sys.path[:0] = [str(folder), str(folder / "site-packages")]
    os.chdir(folder)
    program = types.ModuleType("__main__")
    program.__file__ = str(folder / "analysis.py")
    sys.modules["__main__"] = program
    exec(compile((folder / "analysis.py").read_text(), program.__file__, "exec"), vars(program))
    return vars(program)


def in_process(folder: Path, look: Callable[[dict[str, Any]], Any]) -> Any:
    """What `look` finds in a program that a process of its own loads."""

    def body(_: int) -> None:
        (folder / "found.json").write_text(json.dumps(look(loaded_program(folder))))

    in_processes(1, body)
    return json.loads((folder / "found.json").read_text())


def found_in(folder: Path, values: dict[str, int]) -> Found:
    """Of each place, in a program that has all of them."""
    folder.mkdir(exist_ok=True)
    write_program(folder, values)
    os.utime(folder / "site-packages/editedlib.py", ns=(1, values["package_edited"]))

    def look(names: dict[str, Any]) -> Found:
        found = {}
        everywhere = dependence_of(put_into_libraries()).digest
        for name in values:
            code = dependence_of(names[f"f_{name}"])
            digest = code.digest + (everywhere if name in OF_ALL else "")
            given = repr(ak.to_list(names[f"f_{name}"](ak.Array(EVENTS))))
            found[name] = (given, digest, list(code.reasons))
        return found

    return {name: (a, b, c) for name, (a, b, c) in in_process(folder, look).items()}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """A program with low values, with every second value changed, with the others changed, and the
    first one again."""
    folder = tmp_path_factory.mktemp("programs")
    low = dict.fromkeys(CODE, LOW)
    halves = [{n: HIGH if k % 2 == half else LOW for k, n in enumerate(CODE)} for half in (0, 1)]
    return [found_in(folder, values) for values in (low, *halves, low)]


@pytest.mark.parametrize("name", CODE)
def test_another_value_is_another_digest_or_has_none(programs: list[Found], name: str) -> None:
    before, now = programs[0][name], programs[1 + [*CODE].index(name) % 2][name]
    assert before[0] != now[0], "the edit of this test changes nothing"
    assert before[2] or before[1] != now[1]
    assert name in SEES_HELPERS or CODE[name].is_plain == (before[2] == []), before[2]


def test_the_same_program_has_the_same_digests(programs: list[Found]) -> None:
    kept = [name for name, (_, digest, _) in programs[3].items() if digest == programs[0][name][1]]
    assert kept == [*CODE]


def test_values_of_other_functions_do_not_count(programs: list[Found]) -> None:
    without = SEES_HELPERS | OF_ALL | _OUT_OF_PYTHON
    for number, name in enumerate(CODE):
        before, now = programs[0][name], programs[2 - number % 2][name]
        assert name in without or before[1:] == now[1:], name


@pytest.mark.parametrize("name", SHARED)
def test_functions_that_share_what_one_of_them_changes_are_computed_together(
    tmp_path: Path, name: str
) -> None:
    shared = SHARED[name]
    text = shared.main.replace("@v@", "3")
    main = f"{text}\nOTHER = {{}}\ndef reads(e): return {shared.read}\n"
    write_program(tmp_path, {}, job=f"{main}def else_where(e): return OTHER\n")

    def look(names: dict[str, Any]) -> list[str]:
        code = {each: dependence_of(names[each]) for each in ("p", "reads", "else_where")}
        return sorted(together(code).get("reads", ()))

    assert in_process(tmp_path, look) == ["p", "reads"]


def test_code_of_an_unknown_python_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    found: Dependence = dependence_of(len)
    assert found.reasons == ("is code of a version of Python that forkrun does not know",)


def test_a_digest_of_code_leaves_out_files_and_knows_what_cannot_be_looked_into(
    tmp_path: Path,
) -> None:
    named = str(tmp_path / "made.txt")

    def f(events: Any) -> Any:
        return events, named

    before = code_digest(f), dependence_of(f).digest
    (tmp_path / "made.txt").write_text("made by the first run")
    assert code_digest(f) == before[0]
    assert dependence_of(f).digest != before[1]
    opaque = {code_digest(partial(max, key=np.random.RandomState(seed))) for seed in (1, 1, 2)}
    assert len(opaque) == 2


def test_values_that_code_uses_are_those_of_own_modules_without_their_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used(text: str, **changed: Any) -> dict[str, str]:
        (tmp_path / "own_cuts.py").write_text(text)
        sys.modules.pop("own_cuts", None)
        importlib.invalidate_caches()
        own = importlib.import_module("own_cuts")
        for name, value in changed.items():
            setattr(own, name, value)
        return {key.rpartition("/")[2]: value for key, value in used_values(own.passes).items()}

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = """
class Cut:
    def __init__(self, least): self.least = least
    def holds(self, x): return x > self.least
CUT, FACTORS, OTHER = Cut(10), {"a": (1, 2)}, 3
def passes(e):
    import json
    return CUT.holds(e.MET * FACTORS["a"][0])
"""
    before = used(text)
    assert [*before] == ["own_cuts.py:CUT", "own_cuts.py:FACTORS"]
    assert used(text.replace("x > self", "x >= self")) == before
    assert used(text.replace("OTHER = Cut(10)", "OTHER = Cut(11)")) != before
    changed = used(text, FACTORS={"a": (1, 3)})
    assert [key for key in before if changed[key] != before[key]] == ["own_cuts.py:FACTORS"]


def test_places_in_libraries_are_the_same_in_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("forkrun.modules.objects.vectors")  # has behaviors of its own

    def total(*_: Any) -> int:
        return 0

    before = put_into_libraries()
    monkeypatch.setitem(ak.behavior, (ak.sum, "Tracks"), total)
    found = [each for each in put_into_libraries() if each not in before]
    assert found == [("['sum', 'Tracks']", total)]
    assert not [place for place, _ in before if " at 0x" in place]
