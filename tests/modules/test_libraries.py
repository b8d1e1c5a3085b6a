"""What a plugin's library depends on: libraries that it brings, and what it asks the system for."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path

import pytest

from forkrun.modules.program.outside import libraries_of
from tests.support.forks import in_processes

OUTER = "int inner(void); int outer(void) { return inner(); }"


def built(folder: Path, name: str, text: str, *options: str) -> Path:
    """A shared library of a text in C."""
    source, library = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(text)
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source), *options]
    subprocess.run(command, check=True, capture_output=True)
    return library


def digests_with(folder: Path, inner: str) -> list[str]:
    """Those of a library that needs another one, in a process that has loaded both."""
    folder.mkdir()
    built(folder, "inner", inner)
    library = built(folder, "outer", OUTER, f"-L{folder}", "-linner", "-Wl,-rpath,$ORIGIN")

    def look(_: int) -> None:
        ctypes.CDLL(str(library))
        (folder / "found.json").write_text(json.dumps(libraries_of(library)))

    in_processes(1, look)
    digests, reasons = json.loads((folder / "found.json").read_text())
    assert reasons == []
    return [str(each) for each in digests]


def test_a_library_that_a_plugin_brings_counts(tmp_path: Path) -> None:
    one, two, again = (
        digests_with(tmp_path / name, f"int inner(void) {{ return {value}; }}")
        for name, value in (("a", 1), ("b", 2), ("c", 1))
    )
    assert one == again
    assert len({*one} - {*two}) == 1


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('char* getenv(const char*); int inner(void) { return !getenv("A"); }', "getenv"),
        ("long time(long*); int inner(void) { return time(0) > 0; }", "time"),
    ],
)
def test_what_a_library_asks_the_system_for_is_named(
    tmp_path: Path, text: str, called: str
) -> None:
    plugin = built(tmp_path, called, text)
    assert libraries_of(plugin)[1][0] == f"lib{called}.so calls {called}"
