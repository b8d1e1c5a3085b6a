"""What modules keep in a child, and nobody gets: numbers that count and containers that grow, in
attributes of the module and in globals of its file. They are compared with what they were when the
child began."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from numbers import Number
from typing import TYPE_CHECKING, Any

from forkrun.base.user_code import program_names
from forkrun.child.random_state import generator_states, states_of_process

if TYPE_CHECKING:  # slow to load, and modules in C++ do not need it
    from forkrun.modules.base import Module

State = dict[tuple[str, str], Any]
"""By label of the module and name of the variable: a number, the length of a container, or a
digest of a generator of random numbers."""
_ANY = ""
"""Instead of a label: any module."""

_CONTAINERS = (list, dict, set, bytearray)

_ENDS = ("end_job", "end_run", "end_lumi", "end_iov")
"""A module with one of these does something with what it keeps, in the child."""


def states_of(modules: Mapping[str, Any]) -> State:
    """What modules in Python, by label, keep now."""
    states: State = {}
    for label, module in modules.items():
        _add_generators(states, label, "self.", vars(module.module))
        own = _globals_of(module.module)
        _add_generators(states, label, "the global ", own)
        if not _has_an_end(module.module):
            _add_countable(states, label, "self.", vars(module.module))
            _add_countable(states, label, "the global ", own)
    for name, state in states_of_process() if modules else ():
        states[_ANY, name] = state
    return states


def _add_generators(states: State, label: str, prefix: str, variables: Mapping[str, Any]) -> None:
    for name, state in generator_states(variables):
        states[label, prefix + name] = state


def lost_states(modules: Mapping[str, Any], before: State) -> Iterator[str]:
    """One line for each variable that has changed since."""
    for key, value in states_of(modules).items():
        if key in before and repr(before[key]) != repr(value):  # a NaN is as it was
            label, name = key
            if isinstance(value, bytes):
                who = f'module "{label}": {name}' if label else f"a module draws from {name}, which"
                yield (
                    f"{who} is a generator of random numbers: each child has a copy that begins"
                    " alike, so different events get the same numbers, and others with other"
                    " children; use block.random, whose numbers belong to events"
                )
                continue
            yield (
                f'module "{label}": {name} changed in children, each in its own copy, and'
                " these changes are lost; an analyzer's self.accumulate(…) adds up over children"
            )


def _has_an_end(module: Module) -> bool:
    return any(hasattr(module, end) for end in _ENDS)


def _globals_of(module: Module) -> Mapping[str, Any]:
    """Globals of the file of a user's module."""
    home = type(module).__module__
    is_own = home.startswith("forkrun_user_") or home in program_names.values()
    return vars(sys.modules[home]) if is_own and home in sys.modules else {}


def _add_countable(states: State, label: str, prefix: str, variables: Mapping[str, Any]) -> None:
    """Names that begin with _ are a module's own affair, such as caches."""
    for name, value in variables.items():
        if name[:1] == "_" or isinstance(value, bool):
            continue
        if isinstance(value, Number):
            states[label, prefix + name] = value
        elif isinstance(value, _CONTAINERS):
            states[label, prefix + name] = len(value)
