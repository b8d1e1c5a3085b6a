"""What modules keep in a child, and nobody gets: numbers that count and containers that grow, in
attributes of the module and in globals of its file. They are compared with what they were when the
child began."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from numbers import Number
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # slow to load, and modules in C++ do not need it
    from forkrun.modules.base import Module

State = dict[tuple[str, str], Any]
"""By label of the module and name of the variable: a number, or the length of a container."""

_ENDS = ("end_job", "end_run", "end_lumi", "end_iov")
"""A module with one of these does something with what it keeps, in the child."""


def states_of(modules: Mapping[str, Any]) -> State:
    """What modules in Python, by label, keep now."""
    return {
        (label, name): value
        for label, module in modules.items()
        if not any(hasattr(module.module, end) for end in _ENDS)
        for name, value in _variables(module.module)
    }


def lost_states(modules: Mapping[str, Any], before: State) -> Iterator[str]:
    """One line for each variable that has changed since."""
    for key, value in states_of(modules).items():
        if key in before and repr(before[key]) != repr(value):  # a NaN is as it was
            label, name = key
            yield (
                f'module "{label}": {name} changed in children, each of which has its own: the job'
                " gets nothing of it; an analyzer's self.accumulate(…) adds up over children"
            )


def _variables(module: Module) -> Iterator[tuple[str, Any]]:
    yield from ((f"self.{n}", v) for n, v in _countable(vars(module)))
    home = sys.modules.get(type(module).__module__)
    if home is not None and _is_users(home):
        yield from ((f"the global {n}", v) for n, v in _countable(vars(home)))


def _is_users(home: ModuleType) -> bool:
    return home.__name__.startswith("forkrun_user_")


def _countable(variables: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names that begin with _ are a module's own affair, such as caches."""
    for name, value in variables.items():
        if name.startswith("_") or isinstance(value, bool):
            continue
        if isinstance(value, Number):
            yield name, value
        elif isinstance(value, list | dict | set | bytearray):
            yield name, len(value)
