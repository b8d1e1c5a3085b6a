"""What modules keep in a child, and nobody gets: numbers that count and containers that grow, in
attributes of the module and in globals of its file. They are compared with what they were when the
child began."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from forkrun.base.user_code import program_names

if TYPE_CHECKING:  # slow to load, and modules in C++ do not need it
    from forkrun.modules.base import Module

State = dict[tuple[str, str], Any]
"""By label of the module and name of the variable: a number, or the length of a container."""

_NUMBERS = (int, float, complex, np.number)
_OF_FRACTIONS = "as_integer_ratio"
"""Fractions and decimals have it, too. Abstract classes, as `numbers.Number`, are not asked: each
child would run much Python for that, and copy what counts its references."""

_CONTAINERS = (list, dict, set, bytearray)

_ENDS = ("end_job", "end_run", "end_lumi", "end_iov")
"""A module with one of these does something with what it keeps, in the child."""


def states_of(modules: Mapping[str, Any]) -> State:
    """What modules in Python, by label, keep now."""
    states: State = {}
    for label, module in modules.items():
        if not _has_an_end(module.module):
            states.update(_states_of(label, module.module))
    return states


def lost_states(modules: Mapping[str, Any], before: State) -> Iterator[str]:
    """One line for each variable that has changed since."""
    for key, value in states_of(modules).items():
        if key in before and repr(before[key]) != repr(value):  # a NaN is as it was
            label, name = key
            yield (
                f'module "{label}": {name} changed in children, each of which has its own: the job'
                " gets nothing of it; an analyzer's self.accumulate(…) adds up over children"
            )


def _has_an_end(module: Module) -> bool:
    for end in _ENDS:  # noqa: SIM110 -- a generator is one more function that every child copies
        if hasattr(module, end):
            return True
    return False


def _states_of(label: str, module: Module) -> State:
    states: State = {}
    _add_countable(states, label, "self.", vars(module))
    home = type(module).__module__
    is_own = home.startswith("forkrun_user_") or home in program_names.values()
    if is_own and home in sys.modules:
        _add_countable(states, label, "the global ", vars(sys.modules[home]))
    return states


def _add_countable(states: State, label: str, prefix: str, variables: Mapping[str, Any]) -> None:
    """Names that begin with _ are a module's own affair, such as caches."""
    for name, value in variables.items():
        if name[:1] == "_" or isinstance(value, bool):
            continue
        if isinstance(value, _NUMBERS) or hasattr(type(value), _OF_FRACTIONS):
            states[label, prefix + name] = value
        elif isinstance(value, _CONTAINERS):
            states[label, prefix + name] = len(value)
