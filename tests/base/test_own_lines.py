"""Errors show the lines of the user's own code, wherever packages are installed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from forkrun.base.user_code import lines_in_user_code
from forkrun.base.user_code.installed import is_installed


@pytest.mark.parametrize(
    "folder",
    [
        "view/lib/python3.11/site-packages",  # of a release, named in PYTHONPATH
        "usr/lib/python3/dist-packages",  # of the system
        "target",  # of pip install --target
    ],
)
def test_the_lines_of_a_user_are_told_from_those_of_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    packages = tmp_path / folder
    (packages / "tool-1.0.dist-info").mkdir(parents=True)
    (packages / "tool_of_others.py").write_text("def fail():\n    raise ValueError('no')\n")
    own = tmp_path / "analysis.py"
    own.write_text("import tool_of_others\n\ndef select():\n    tool_of_others.fail()\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    is_installed.cache_clear()
    select = runpy.run_path(str(own))["select"]
    with pytest.raises(ValueError, match="no") as caught:
        select()
    del sys.modules["tool_of_others"]
    lines = lines_in_user_code(caught.value).split("\n")
    assert f"  {own}, line 4, in select: tool_of_others.fail()" in lines
    assert not any("tool_of_others.py" in line for line in lines)
