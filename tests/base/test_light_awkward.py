"""Awkward is imported without what few of its functions use, and these work all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jobs import environment

_BEGIN = """
import sys
from pathlib import Path
from forkrun.base.importing import import_awkward_lightly
import_awkward_lightly()
import awkward as ak
def imported():
    return sorted({"fsspec", "pyarrow", "awkward._connect.pyarrow"} & sys.modules.keys())
"""
_END = """
import os
sys.stdout.flush()
os._exit(0)
"""
"""As commands end: threads of pyarrow sometimes abort a Python that tidies up."""


def printed(folder: Path, text: str, path: Path | None = None) -> list[str]:
    """Lines that such a program prints."""
    more = {"PYTHONPATH": f"{path}:{environment()['PYTHONPATH']}"} if path else {}
    command = [sys.executable, "-c", _BEGIN + text + _END]
    ended = subprocess.run(
        command, cwd=folder, env=environment(**more), stdout=subprocess.PIPE, check=True, text=True
    )
    return ended.stdout.splitlines()


@pytest.mark.slow
def test_functions_import_what_they_need(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    text = """
print(imported())
print(ak.str.upper(ak.Array(["a"])).tolist(), imported())
a = ak.Array([[1.0, None], [2.0]])
ak.to_json(a, "a.json")
ak.to_parquet(a, "a.parquet")
print(imported() == ["awkward._connect.pyarrow", "fsspec", "pyarrow"])
print(ak.from_json(Path("a.json")).tolist())
print(ak.from_parquet("a.parquet").type, ak.from_arrow(ak.to_arrow(a)).type)
"""
    assert printed(tmp_path, text) == [
        "[]",
        "['A'] ['awkward._connect.pyarrow', 'pyarrow']",
        "True",
        "[[1.0, None], [2.0]]",
        "2 * var * ?float64 2 * var * ?float64",
    ]


@pytest.mark.slow
def test_pyarrow_has_the_types_of_awkward_whoever_imports_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write = """
import pyarrow
table = ak.to_arrow_table(ak.Array([{"x": (1, 2.0)}]), extensionarray=True)
with pyarrow.ipc.new_file("a.arrow", table.schema) as file:
    file.write_table(table)
"""
    read = """
print(imported())
import pyarrow
table = pyarrow.ipc.open_file("a.arrow").read_all()
print(imported()[0], ak.from_arrow(table).type)
"""
    assert printed(tmp_path, write) == []
    assert printed(tmp_path, read) == [
        "[]",
        "awkward._connect.pyarrow 1 * {x: (int64, float64)}",
    ]


@pytest.mark.slow
def test_an_awkward_that_needs_them_at_once_has_them(tmp_path: Path) -> None:
    for package in ("awkward", "fsspec"):
        (tmp_path / package).mkdir()
    (tmp_path / "fsspec/__init__.py").write_text("class Base: where = 'fsspec'")
    (tmp_path / "fsspec/parquet.py").write_text("")
    (tmp_path / "awkward/part.py").write_text("import fsspec.parquet\nclass A(fsspec.Base): pass")
    (tmp_path / "awkward/__init__.py").write_text("from awkward.part import A")
    assert printed(tmp_path, "print(ak.A.where, imported())", tmp_path) == ["fsspec ['fsspec']"]
