"""Home of a job's function: a file that can be imported, or the running program."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from forkrun.base.caller import NOTEBOOK
from forkrun.base.user_code import unpartial


def home_of(function: Any) -> str | None:
    """`FILE.py:NAME` or `package.module:NAME`; None if only the running program has it: it belongs
    to the program itself or to a notebook, or was made within another function."""
    name, home = getattr(function, "__qualname__", ""), getattr(function, "__module__", None)
    module = sys.modules.get(home or "")
    if home in (None, "__main__") or module is None or not name.isidentifier():
        return None
    if getattr(module, name, None) is not function:
        return None
    file = getattr(module, "__file__", None)
    if not file or not file.endswith(".py"):
        return None
    return f"{home}:{name}" if "." in str(home) else f"{Path(file).resolve()}:{name}"


def program() -> str:
    """The file of the running program; "notebook" where it has none."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return str(Path(file).resolve()) if file else NOTEBOOK


def place_of(function: Any) -> str:
    """Name, file and line of a function, for people."""
    plain = unpartial(function)
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__name__", str(function))
    return f"{name} ({code.co_filename}, line {code.co_firstlineno})" if code else name


def calling_line() -> tuple[str, int] | None:
    """File and line of the program that has called forkrun; None without a file."""
    frame: FrameType | None = sys._getframe(1)
    while frame and frame.f_globals.get("__name__", "").startswith("forkrun."):
        frame = frame.f_back
    if frame is None or not Path(frame.f_code.co_filename).exists():
        return None
    return str(Path(frame.f_code.co_filename).absolute()), frame.f_lineno
