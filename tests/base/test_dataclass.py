"""Classes whose methods are shared are those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any

import pytest

from forkrun.base.dataclass import dataclass, from_fields


def body(decorated: Callable[..., Any]) -> tuple[type, type]:
    @decorated(frozen=True)
    class Point:
        """A point."""

        x: int
        y: float = 0.5
        names: list[str] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)

        @cached_property
        def double(self) -> int:
            return 2 * self.x

    @decorated(frozen=True, kw_only=True)
    class Named(Point):
        name: str = "a"

        def __repr__(self) -> str:
            return f"<{self.name}>"

    return Point, Named


OURS, LIBRARY = body(dataclass), body(dataclasses.dataclass)


@pytest.mark.parametrize(("point", "named"), [OURS, LIBRARY])
def test_they_are_made_compared_shown_and_replaced(point: Any, named: Any) -> None:
    a, b, c = point(1), point(1, 0.5, ["other"]), point(1, hidden=4)
    assert a == b != c
    assert hash(a) == hash(b) == hash((1, 0.5, 3))
    assert a != (1, 0.5, [], 3)
    assert repr(b).endswith("Point(x=1, y=0.5, names=['other'])")
    assert (repr(named(2, name="z")), named(2) == a) == ("<z>", False)
    assert dataclasses.replace(c, x=7) == point(7, hidden=4)
    assert [f.name for f in dataclasses.fields(named(1))] == ["x", "y", "names", "hidden", "name"]
    assert dataclasses.asdict(a) == {"x": 1, "y": 0.5, "names": [], "hidden": 3}
    assert (a.double, copy.copy(a), copy.deepcopy(a)) == (2, a, a)
    with pytest.raises(TypeError):
        point()
    with pytest.raises(TypeError):
        named(1, 2.0, [], 4, "positional")


@pytest.mark.parametrize(("point", "named"), [OURS, LIBRARY])
@pytest.mark.parametrize("name", ["x", "name", "other"])
def test_nothing_can_be_set_or_deleted(point: Any, named: Any, name: str) -> None:
    for thing in (point(1), named(1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(thing, name)


@dataclass(frozen=True)
class Pickled:
    x: int
    inner: Pickled | None = None


@dataclass(frozen=True, eq=False)
class Unequal:
    x: int


@dataclass(frozen=True, repr=False)
class Equal:
    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)


def test_pickled_unequal_and_own_methods() -> None:
    one = Pickled(1, Pickled(2))
    assert pickle.loads(pickle.dumps(one)) == one
    assert Unequal(1) != Unequal(1)
    assert len({Unequal(1), Unequal(1)}) == 2
    assert Equal(1) == Equal(2)
    assert hash(Equal(1)) == hash((1,))
    assert "Equal object at" in repr(Equal(1))


@dataclass(frozen=True)
class Read:
    x: int
    y: float = 0.5


@pytest.mark.parametrize("values", [{"x": 1}, {"y": 2.0, "x": 3}])
def test_what_is_made_of_fields_is_what_the_class_makes(values: dict[str, Any]) -> None:
    made = from_fields(Read, values)
    assert made == Read(**values)
    assert vars(made) == vars(Read(**values))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 2  # type: ignore[misc]


@pytest.mark.parametrize("values", [{}, {"y": 1.0}, {"x": 1, "z": 2}])
def test_fields_that_are_missing_or_unknown_are_named(values: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"'x'|'z'"):
        from_fields(Read, values)


@pytest.mark.parametrize("decorated", [dataclass, dataclasses.dataclass])
def test_what_is_to_be_done_after_init_is_done(decorated: Any) -> None:
    @decorated(frozen=True)
    class Positive:
        x: int = 1

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

    made: Any = Positive
    assert made(2).x == 2
    with pytest.raises(ValueError, match="negative"):
        made(-1)


@pytest.mark.parametrize(("point", "named"), [OURS, LIBRARY])
def test_values_that_are_wrong_are_refused(point: Any, named: Any) -> None:
    for args, given in ((), {}), ((1, 2.0, [], 3, 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2}):
        with pytest.raises(TypeError):
            point(*args, **given)
    assert list(vars(point(y=2.0, x=1))) == ["x", "y", "names", "hidden"]
    assert point(1).names is not point(1).names
