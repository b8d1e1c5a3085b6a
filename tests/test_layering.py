"""The folder tree is the design: dependencies go one way."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OF_FORKRUN = ("forkrun.errors", "forkrun.config", "forkrun._core")


def imported_modules(file: Path) -> set[str]:
    """Full names: `from forkrun import _core` gives forkrun._core."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = node.module == "forkrun"
            names |= {f"forkrun.{a.name}" for a in node.names} if whole else {node.module}
    return names


@pytest.mark.parametrize("folder", ["merge", "monitoring"])
def test_merge_and_monitoring_stand_on_errors_config_and_core_alone(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    allowed = (*OF_FORKRUN, f"forkrun.{folder}")
    for file in files:
        ours = {n for n in imported_modules(file) if n.startswith("forkrun")}
        strangers = {n for n in ours if not any(n == a or n.startswith(f"{a}.") for a in allowed)}
        assert not strangers, f"{file.relative_to(ROOT)} imports {strangers}"


def test_one_python_file_forks() -> None:
    files = [f for f in (ROOT / "forkrun").rglob("*.py") if "_core.fork(" in f.read_text()]
    assert [file.name for file in files] == ["forking.py"]


def including(pattern: str) -> set[str]:
    includes = re.compile(rf"^#include <{pattern}", re.MULTILINE)
    files = [f for f in (ROOT / "cpp").rglob("*.?pp") if includes.search(f.read_text())]
    return {file.relative_to(ROOT / "cpp").as_posix() for file in files}


def test_root_is_known_to_its_folder_alone() -> None:
    users = including(r"(T[A-Z]\w*|ROOT/\w+|RZip|Compression)\.h")
    assert users
    assert {name for name in users if not name.startswith("forkrun/root_io/")} == set()


def test_tbb_is_known_to_executor_files_alone() -> None:
    users = including(r"(oneapi/)?tbb/")
    assert users
    executors = {n for n in users if re.fullmatch(r"forkrun/concurrency/\w*executor\w*\.cpp", n)}
    assert users == executors


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("random", ("core", "concurrency", "root_io", "modules")),
        ("concurrency", ("core", "random", "root_io", "modules")),
        ("core", ("root_io", "modules")),
        ("modules", ("root_io",)),
        ("root_io", ("modules",)),
    ],
)
def test_cpp_libraries_look_one_way(folder: str, forbidden: tuple[str, ...]) -> None:
    for other in forbidden:
        users = {n for n in including(f"forkrun/{other}/") if n.startswith(f"forkrun/{folder}/")}
        assert not users, f"{folder} includes {other}: {users}"
