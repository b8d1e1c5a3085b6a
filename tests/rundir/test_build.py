"""The identity of a build says what is installed, and costs little."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import forkrun
from forkrun.rundir.build import build_identity, installed_digest
from tests.support.jobs import forkrun as command


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a folder, a link to a folder beside it, a library, and what nobody runs."""
    package = tmp_path / "package"
    (package / "lib/__pycache__").mkdir(parents=True)
    (tmp_path / "merge").mkdir()
    (package / "merge").symlink_to(tmp_path / "merge")
    (package / "__init__.py").write_text("A = 1\n")
    (tmp_path / "merge/parts.py").write_text("B = 1\n")
    (package / "lib/libcore.so").write_bytes(b"code")
    (package / "notes.txt").write_text("")
    return package


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.mark.parametrize("name", ["__init__.py", "merge/parts.py", "lib/libcore.so", "new.py"])
def test_each_file_that_is_executed_counts(package: Path, cache: Path, name: str) -> None:
    before = installed_digest(package, cache)
    (package / name).write_text("A = 2\n")
    assert installed_digest(package, cache) != before


def test_other_files_do_not_count(package: Path, cache: Path) -> None:
    before = installed_digest(package, cache)
    (package / "notes.txt").write_text("more")
    (package / "lib/__pycache__/x.py").write_text("")
    assert installed_digest(package, cache) == before


def test_the_same_files_elsewhere_and_at_another_time_have_the_same_digest(
    package: Path, cache: Path
) -> None:
    before = installed_digest(package, cache)
    os.utime(package / "__init__.py", (0, 0))
    assert installed_digest(package, cache) == before
    assert installed_digest(package.rename(package.with_name("moved")), cache) == before


def test_contents_are_read_once(
    package: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = installed_digest(package, cache)
    monkeypatch.setattr("forkrun.rundir.build._digest", lambda *_: pytest.fail("read again"))
    assert installed_digest(package, cache) == first


@pytest.mark.parametrize("content", ["", "{", '{"state": 1}', "[]"])
def test_a_damaged_cache_is_made_anew(package: Path, cache: Path, content: str) -> None:
    first = installed_digest(package, cache)
    (file,) = cache.iterdir()
    file.write_text(content)
    assert installed_digest(package, cache) == first


def test_a_cache_that_cannot_be_written_or_is_switched_off_costs_time_alone(package: Path) -> None:
    assert installed_digest(package, Path("/dev/null/cache")) == installed_digest(package, None)


def test_the_version_names_the_build(tmp_path: Path) -> None:
    assert re.fullmatch(re.escape(forkrun.__version__) + r"\+[0-9a-f]{12}", build_identity())
    ended = command("--version", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, f"forkrun {build_identity()}\n")
