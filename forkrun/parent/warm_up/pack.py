"""Puts the code that children run side by side. Python before 3.12 counts references in the code of
each function that it calls, and a child copies the page for that. Where imports have put it, the
page holds code of one function that children call, and of others that they do not."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Container, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from forkrun import _core

NotedCode = dict[int, CodeType]
"""By `id`: code of other files may be equal."""


@contextlib.contextmanager
def noting_code(noted: NotedCode) -> Iterator[None]:
    """Notes the code of all functions that this thread calls meanwhile, in order of their first
    calls; none while a profiler watches."""

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            noted.setdefault(id(frame.f_code), frame.f_code)

    if sys.getprofile() is not None:
        yield
        return
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def pack_code(noted: NotedCode) -> None:
    """Gives functions with this code copies of it, one behind the other, outside of free places
    between other objects. Python adapts the copies anew."""
    functions: dict[int, list[FunctionType]] = {number: [] for number in noted}
    is_frozen = gc.get_freeze_count() > 0
    gc.unfreeze()  # what is frozen is in no list
    for each in gc.get_objects():
        if type(each) is FunctionType and id(each.__code__) in functions:
            functions[id(each.__code__)].append(each)
    if is_frozen:
        gc.freeze()
    _core.take_free_places()
    _core.take_free_blocks()
    for number, having in functions.items():
        if having:
            copy = _copy(noted[number], noted)
            for function in having:
                function.__code__ = copy


def _copy(code: CodeType, noted: Container[int]) -> CodeType:
    """A copy; functions that this one makes get copies as well."""
    constants = (
        _copy(each, noted) if isinstance(each, CodeType) and id(each) in noted else each
        for each in code.co_consts
    )
    name = code.co_qualname.encode().decode()  # functions refer to it when they are made
    return code.replace(co_consts=tuple(constants), co_qualname=name)
