"""What code depends on that is neither in its input nor in its code."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from forkrun.modules.program import outside


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found before is found again."""
    for name in ("_records", "_installed_versions"):
        monkeypatch.setattr(outside, name, getattr(outside, name).__wrapped__)


def test_versions_are_those_that_python_reads_in_the_records_of_packages() -> None:
    names = {each.metadata["Name"] for each in metadata.distributions()}
    read = {name: metadata.version(name) for name in names}
    assert {name: outside.installed_version(name) for name in names} == read
    assert outside.installed_version("no_such_package") is None


@pytest.mark.parametrize(
    ("record", "version"),
    [
        ("Some_Package-1!2.0rc1+cu118.dist-info", "1!2.0rc1+cu118"),
        ("some.package-1.0-py3.11.egg-info", "1.0"),
        ("some_package.egg-info", None),
    ],
)
def test_the_version_of_the_first_record_on_the_path_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str, version: str | None
) -> None:
    for folder, name in (("a", record), ("b", "some_package-0.1.dist-info")):
        (tmp_path / folder / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), *sys.path])
    assert outside.installed_version("some-package") == version
    monkeypatch.setattr(sys, "path", [str(tmp_path / "b"), *sys.path])
    assert outside.installed_version("some-package") == "0.1"
