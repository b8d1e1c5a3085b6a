"""State set by a program before it runs its job, for the clean parent process of that job: values
of the user's own modules, arguments and import path of the program, its warning filters, NumPy's
handling of floating-point errors, and behaviors of Awkward arrays.

A module gets its values at the end of its import, at any time: modules not needed by the job are
not imported."""

from __future__ import annotations

import contextlib
import pickle
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from msgspec import Struct

from forkrun.base import user_code
from forkrun.base.importing import found_after
from forkrun.base.input_files.urls import hide_secrets
from forkrun.base.received import STATE, received
from forkrun.errors import ConfigError
from forkrun.modules.program.encoded import Encoded, decode, encode
from forkrun.modules.program.own_code import names_by_file, own_modules
from forkrun.modules.program.values import Values, settle, values_of

_WITHOUT = ("awkward", "forkrun")
"""Packages that register their behaviors on import."""


class ProgramState(Struct, frozen=True):
    """State of the running program. `names`: of modules, by file; `values`: by module; `behaviors`:
    of Awkward arrays, by the module whose import brings them: that of a library, or Awkward."""

    argv: Sequence[str]
    path: Sequence[str]
    filters: Sequence[Encoded]
    float_errors: Mapping[str, Any]
    names: Mapping[str, str]
    values: Mapping[str, Values]
    behaviors: Mapping[str, Mapping[Encoded, Encoded]] = {}

    @classmethod
    def taken(cls) -> ProgramState:
        """The present state."""
        numpy = sys.modules.get("numpy")
        return cls(
            tuple(map(hide_secrets, sys.argv)),
            tuple(sys.path),
            [_encoded_filter(each) for each in warnings.filters],
            numpy.geterr() if numpy else {},
            names_by_file(),
            {module.__name__: values_of(module) for module in own_modules()},
            _behaviors(),
        )

    def set_up(self) -> None:
        """Sets this process up, before it imports any of the user's modules."""
        sys.path[:] = self.path
        sys.argv[:] = self.argv
        user_code.program_names.update(self.names)
        sys.meta_path.insert(0, _Finder(self))
        for encoded in reversed(self.filters):
            with contextlib.suppress(Exception):  # its class cannot be imported here
                _filter_warnings(*decode(encoded))

    def imported(self, module: ModuleType) -> None:
        """Gives a newly imported module the values set by the program. Raises ConfigError."""
        name = module.__name__
        if name in self.values:
            settle(module, self.values[name])
        if name in self.behaviors:
            _behave(self.behaviors[name])
        if name == "numpy":
            module.seterr(**self.float_errors)

    @property
    def awaited(self) -> set[str]:
        """Modules that get values when they are imported."""
        numpy = {"numpy"} if self.float_errors else set()
        return {*self.values, *self.behaviors, *numpy}


def _encoded_filter(each: tuple[Any, ...]) -> Encoded:
    """Encodes a filter of warnings like `encode`, which would load `cloudpickle`."""
    is_of_program = each[2].__module__ == "__main__"
    return encode(each) if is_of_program else ("value", pickle.dumps(each))


def _filter_warnings(action: Any, message: Any, category: Any, module: Any, line: int) -> None:
    texts = [getattr(each, "pattern", each) or "" for each in (message, module)]
    warnings.filterwarnings(action, texts[0], category, texts[1], line)


def _behaviors() -> Mapping[str, Mapping[Encoded, Encoded]]:
    awkward = sys.modules.get("awkward")
    own = {module.__name__ for module in own_modules()} | {"__main__"}
    found: dict[str, dict[Encoded, Encoded]] = defaultdict(dict)
    for key, value in (awkward.behavior if awkward else {}).items():
        home = str(getattr(value, "__module__", "__main__"))
        package = home.partition(".")[0]
        if package not in _WITHOUT:
            found["awkward" if home in own else package][encode(key)] = encode(value)
    return dict(found)


def _behave(behaviors: Mapping[Encoded, Encoded]) -> None:
    import awkward

    for key, value in behaviors.items():
        name = decode(key)
        if value[0] == "type":
            raise ConfigError(
                f"awkward.behavior[{name!r}]: a {value[1]} cannot be handed to another process; set"
                " it within a module of the job, or take job.run(children=0)"
            )
        awkward.behavior[name] = decode(value)


class _Finder(MetaPathFinder):
    """Finds modules as usual, and has their values set after import."""

    def __init__(self, state: ProgramState) -> None:
        self._state = state
        self._awaited = state.awaited

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._awaited:
            return None
        spec = found_after(self, name, path, target)
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader, self._state)
        return spec


class _Loader(Loader):
    """Loader that sets a module's values after running it, and then removes itself."""

    def __init__(self, loader: Any, state: ProgramState) -> None:
        self._loader, self._state = loader, state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._state.imported(module)


@contextlib.contextmanager
def running_here() -> Iterator[None]:
    """Lets a job in the program's own process use the modules that the program has imported."""
    before = dict(user_code.program_names)
    user_code.program_names.update(names_by_file())
    try:
        yield
    finally:
        user_code.program_names.clear()
        user_code.program_names.update(before)


def receive_state() -> None:
    """Receives the state in a clean parent process or a node, before it imports the user's modules;
    does nothing in other processes."""
    if content := received(STATE):
        state: ProgramState = pickle.loads(content)
        state.set_up()
        for name in state.awaited & sys.modules.keys():
            state.imported(sys.modules[name])
