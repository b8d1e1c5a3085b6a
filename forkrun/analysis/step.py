"""One module of a job that is built in Python, and its entry in [[modules]]."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct, field

from forkrun.base.caller import NOTEBOOK
from forkrun.base.user_code import unpartial
from forkrun.errors import ConfigError
from forkrun.modules.program.dependence import code_digest
from forkrun.modules.program.given import Given


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


_DECLARED = ("consumes", "produces", "replaces", "variations", "variation", "on_data")
"""Attributes of classes given by keywords for functions."""


class Step(Struct, frozen=True):
    """`what`: an expression, a function or a class; `weight`: an expression, a function or a
    number; `name`: of a histogram, or of a column whose module has another label; `keys`: of
    [[modules]], of one in C++; `is_filter`: it selects events."""

    kind: str
    label: str
    what: Any
    params: Mapping[str, Any]
    axes: Sequence[Any] = ()
    weight: Any = None
    histograms: Mapping[str, Any] = {}
    name: str = ""
    keys: Mapping[str, Any] = {}
    is_filter: bool = False
    line: tuple[str, int] | None = field(default_factory=calling_line)
    """File and line of the call that adds the step."""

    @property
    def place(self) -> str:
        """Place of the definition, for people."""
        if not isinstance(self.what, str):
            return place_of(self.what)
        return f'"{self.what}" ({self.line[0]}, line {self.line[1]})' if self.line else self.what

    @property
    def is_of_program(self) -> bool:
        """Whether the step, or a part of it, exists only in the running program."""
        if self.histograms or callable(self.weight):
            return True
        return not isinstance(self.what, str) and home_of(self.what) is None

    @property
    def type(self) -> str:
        """Type, as in [[modules]]."""
        if self.is_of_program:
            return f"given:{program()}:{re.sub(r'[^A-Za-z0-9_.-]', '_', self.label)}"
        if isinstance(self.what, str):
            return self.what if self.kind == "cpp" else f"expression:{self.what}"
        return f"python:{home_of(self.what)}"

    @property
    def given(self) -> Given:
        """Functions and values that the program passes to the job."""
        weight = self.weight if callable(self.weight) else None
        return Given(self.what, self.histograms, weight)

    def entry(self) -> dict[str, Any]:
        """Entry in [[modules]]."""
        entry: dict[str, Any] = {"label": self.label, "type": self.type}
        params = dict(self.params)
        if self.kind == "cpp":
            return entry | dict(self.keys) | ({"params": params} if params else {})
        if not inspect.isclass(self.what):
            entry["kind"] = self.kind
            entry |= {key: params.pop(key) for key in _DECLARED if key in params}
        if params:
            entry["params"] = params
        if self.axes:
            entry["axes"] = self._axes()
        if self.name:
            entry["name"] = self.name
        if self.weight is not None and not callable(self.weight):
            entry["weight"] = self.weight
        if isinstance(self.what, str) or isinstance(self.weight, str):
            entry["place"] = self.line
        if self.is_of_program:
            entry["code"] = code_digest((self.what, dict(self.histograms), self.weight))
        return entry

    def _axes(self) -> list[dict[str, Any]]:
        from forkrun.histograms.configured_axes import describe_axis

        try:
            return [describe_axis(axis) for axis in self.axes]
        except (TypeError, ValueError) as error:
            raise ConfigError(f'histogram "{self.name}": {error}') from None
