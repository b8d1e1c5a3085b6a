"""Code that children run, side by side."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from forkrun.parent.warm_up.pack import NotedCode, noting_code, pack_code


def squares(n: int) -> list[int]:
    def square(i: int) -> int:
        return i * i

    return [square(i) for i in range(n)]


def never_called() -> None:
    raise AssertionError


def test_functions_that_were_called_get_copies_of_their_code_that_do_the_same() -> None:
    before, other = squares.__code__, never_called.__code__
    noted: NotedCode = {}
    with noting_code(noted):
        assert squares(3) == [0, 1, 4]
    pack_code(noted)
    assert squares.__code__ is not before
    assert squares.__code__ == before
    assert never_called.__code__ is other
    assert squares(4) == [0, 1, 4, 9]
    inner = [code for code in squares.__code__.co_consts if isinstance(code, CodeType)]
    assert not {id(code) for code in inner} & set(noted)


def test_a_profiler_is_left_in_place_and_nothing_is_noted() -> None:
    def profiler(*_: Any) -> None: ...

    noted: NotedCode = {}
    sys.setprofile(profiler)
    try:
        with noting_code(noted):
            squares(2)
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert not noted
