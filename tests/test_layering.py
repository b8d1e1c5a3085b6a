"""The folder tree is the design: dependencies go one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("errors", "_core", "base", "config", "index", "plan", "fork", "rundir")
"""From the bottom; a folder imports from those before it."""
OF_OUTPUTS = ("errors", "_core", "base", "config", "rundir")


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


def strangers(file: Path, allowed: Sequence[str]) -> set[str]:
    """What of forkrun a file imports beside the folders allowed. `forkrun` itself: its version."""
    ours = {n for n in imported_modules(file) if n.startswith("forkrun.")}
    return {name for name in ours if name.split(".")[1] not in allowed}


@pytest.mark.parametrize("folder", ["merge", "monitoring"])
def test_merge_and_monitoring_stand_on_the_run_directory_and_what_is_below(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    for file in files:
        found = strangers(file, (*OF_OUTPUTS, folder))
        assert not found, f"{file.relative_to(ROOT)} imports {found}"


@pytest.mark.parametrize("folder", ["base", "rundir"])
def test_lower_floors_do_not_know_the_upper_ones(folder: str) -> None:
    allowed = OF_OUTPUTS if folder == "rundir" else FLOORS[: FLOORS.index(folder) + 1]
    files = sorted((ROOT / "forkrun" / folder).rglob("*.py"))
    assert files
    for file in files:
        found = strangers(file, allowed)
        assert not found, f"{file.relative_to(ROOT)} imports {found}"


NAMES_IN_RUN_DIRECTORY = re.compile(
    r"""["'/](config\.json|plan\.json|report\.(json|txt)|samples\.jsonl|events\.jsonl|timing\.json"""
    r"""|trace\.json|fingerprint\.json|merge\.json|revoked\.jsonl|host\.json|sampler\.json"""
    r"""|(processed|failed|notFinished)Lumis\.json)["']"""
)


def ours() -> list[Path]:
    folders = ("forkrun", "merge", "monitoring")
    return [file for folder in folders for file in (ROOT / folder).rglob("*.py")]


def test_names_in_the_run_directory_are_spelt_by_its_owner_alone() -> None:
    spelling = {
        file.relative_to(ROOT).as_posix()
        for file in ours()
        if NAMES_IN_RUN_DIRECTORY.search(file.read_text())
    }
    # The clean parent's configuration lies in a scratch folder.
    assert spelling - {"forkrun/api.py"} == {
        "forkrun/rundir/directory.py",
        "forkrun/rundir/ledger.py",
    }


def test_one_file_syncs_and_renames() -> None:
    """Beside it: a ledger's line is synced where it is appended, a unit's files where they are
    published, a dead lock is renamed."""
    renames = re.compile(r"os\.(fsync|replace|rename)\(|\.(replace|rename)\(\w+\)$", re.MULTILINE)
    users = {f.relative_to(ROOT).as_posix() for f in ours() if renames.search(f.read_text())}
    assert users == {
        "forkrun/base/durable.py", "forkrun/rundir/ledger.py", "forkrun/rundir/ledger_writer.py",
        "forkrun/rundir/lock.py", "forkrun/rundir/unit_files.py",
    }  # fmt: skip


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
