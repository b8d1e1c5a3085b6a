"""A producer or filter as it is called again for a systematic variation."""

from __future__ import annotations

from typing import Any

from forkrun.modules.python_module import MODULE_CALLBACKS, PythonModule


class VariedModule(PythonModule):
    """A module that is called again in a systematic variation. It is the same object, and has no
    callbacks of its own."""

    def __init__(self, nominal: PythonModule, variation: str) -> None:
        super().__init__(nominal.module)
        self.consumes, self.produces = nominal.consumes, nominal.produces
        self.lacked = nominal.lacked
        self.datasets, self.columns, self.variation = nominal.datasets, nominal.columns, variation

    def __getattr__(self, name: str) -> Any:
        if name in MODULE_CALLBACKS:
            raise AttributeError(name)
        return super().__getattr__(name)
