"""Notes what Python imports in a child: memory of its own that children of one parent could share.
It touches nothing that is there at the fork: counts of references would become memory of the child.

It is asked first where each module is, and sees on the stack which module of the job is called."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from forkrun.modules.python_module import PythonModule

_CALLS = (PythonModule._call.__code__, PythonModule._call_back.__code__)


class ImportWatch:
    """`modules`: those of the job in Python, by label. Lasts as long as the process."""

    def __init__(self, modules: Mapping[str, PythonModule]) -> None:
        self._labels = {id(module.module): label for label, module in modules.items()}
        self._callers: dict[str, str] = {}
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: Any) -> None:
        """Notes who asks; others find it."""
        self._callers.setdefault(name, self._caller())

    def _caller(self) -> str:
        """Label of the module that is being called; "" if none is."""
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code in _CALLS:
                return self._labels.get(id(frame.f_locals["self"].module), "")
        return ""

    def found(self) -> dict[str, list[str]]:
        """Names of what was imported since the watch began, by label of the module that did so; "":
        by none of the job."""
        by_caller: dict[str, list[str]] = {}
        for name, caller in self._callers.items():
            if name in sys.modules:
                by_caller.setdefault(caller, []).append(name)
        return by_caller
