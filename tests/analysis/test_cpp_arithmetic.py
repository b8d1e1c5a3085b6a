"""Integers in expressions are computed as C++ computes them: a table of types and operators, each
against ROOT's RDataFrame."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.base.notes import take_notes
from forkrun.modules.cpp_arithmetic import as_type, at_least_int
from forkrun.modules.expressions import Expression
from tests.server.root_program import call_root

TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
PAIRS = list(itertools.product(TYPES, TYPES))
OPERATORS = ("+", "-", "*", "/", "%", "&", "|", "<", "<=", ">", ">=", "==", "!=")
OF_ONE = [
    *(f"{sign}a_{kind}" for sign in ("-", "+", "!") for kind in TYPES),
    *(f"~(a_{kind})" for kind in TYPES if kind != "bool"),  # a mask in an expression
    *(f"a_{kind} << 4" for kind in TYPES), *(f"a_{kind} >> 1" for kind in TYPES),
    *(f"a_{kind} + 300" for kind in TYPES), *(f"a_{kind} - 2000" for kind in TYPES),
    *(f"a_{kind} * 10" for kind in TYPES), *(f"a_{kind} > -1" for kind in TYPES),
    *(f"a_{kind} < 300" for kind in TYPES), *(f"a_{kind} / 3" for kind in TYPES),
    *(f"a_{kind} % 3" for kind in TYPES), *(f"a_{kind} / -3" for kind in TYPES),
    "-a_int32 / 2", "a_int8 + 3000000000", "(a_bool + a_bool) * 2", "(a_uint8 > 3) + (a_int8 > 3)",
    "~(a_uint8) & 15", "a_uint8 & ~4", "7 / 2 + a_int32", "-7 % 3 + a_int32", "!a_int8 == b_bool",
]  # fmt: skip
OF_LISTS = [
    *(f"Sum(j_{kind} * 10)" for kind in TYPES if kind != "uint32"),
    *(f"Sum(-j_{kind})" for kind in ("int8", "int16", "int32", "int64", "uint64")),
    *(f"Sum(j_{one} {operator} j_{other})" for operator in ("+", "-", "*", ">", "/")
      for one, other in (("uint8", "int8"), ("int16", "uint16"), ("bool", "uint8"),
                         ("int8", "int8"), ("bool", "bool"), ("uint8", "int32"))),
    "Sum(abs(j_int8))", "Sum(j_uint8 > -1)", "Sum(j_int8 < j_uint32)", "Sum(j_uint8 / 3 * 3)",
]  # fmt: skip


def values(kind: str, second: bool) -> Any:
    """Edges of small and unsigned types; of others such as no sum or product goes over: that is
    undefined in C++. The second has no zero."""
    if kind == "bool":
        return np.array([1, 1, 1, 1, 1, 1] if second else [0, 1, 1, 0, 1, 0], np.bool_)
    if kind in ("int32", "int64"):
        return np.array([7, -3, 2, 100, -999, 1] if second else [-1, 0, 1000, -1000, 37, -7], kind)
    about = np.iinfo(kind)
    least = -5 if about.min else 5
    first = [0, about.max, about.min, 200 % about.max, 3, about.max - 1]
    most = about.max // 4 if kind == "uint16" else about.max  # the product is an int
    return np.array([1, most, least, 3, 7, 2] if second else first, kind)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns: dict[str, Any] = {}
    for kind in TYPES:
        columns[f"a_{kind}"], columns[f"b_{kind}"] = values(kind, False), values(kind, True)
        columns[f"j_{kind}"] = np.array([0, 2, 2, 6], np.int64), values(kind, True)
    numbers = {name: column for name, column in columns.items() if name[0] != "j"}
    lists = {name: column for name, column in columns.items() if name[0] == "j"}
    folder = tmp_path_factory.mktemp("types")
    for name, content in (("numbers", numbers), ("lists", lists)):
        types = [(n, f"{n[2:]}[]" if isinstance(c, tuple) else n[2:]) for n, c in content.items()]
        writer = _core.TreeWriter(str(folder / f"{name}.root"), "Events", types, "none")
        writer.write(content)
        writer.close()
    return folder


def of_root(file: str, groups: list[list[str]]) -> list[Any]:
    """(groups, events, expressions): each converted to 64 bits, with a Define for each group."""
    import ROOT

    frame = ROOT.RDataFrame("Events", file)
    for number, texts in enumerate(groups):
        in_root = [text.replace("~", "-1 - ") for text in texts]  # RDataFrame has no ~
        all_of = ", ".join(f"(Long64_t)({text})" for text in in_root)
        frame = frame.Define(f"r{number}", f"ROOT::RVec<Long64_t>{{{all_of}}}")
    names = [f"r{number}" for number in range(len(groups))]
    made = frame.AsNumpy(names)
    return [[[int(value) for value in event] for event in made[name]] for name in names]


def block(file: Path) -> Any:
    columns = {name: branch.array() for name, branch in uproot.open(file)["Events"].items()}

    class Block(SimpleNamespace):
        column_types = dict.fromkeys(columns, "")

        def __getitem__(self, name: str) -> Any:
            column = columns[name]
            return column if column.ndim > 1 else ak.to_numpy(column)

        def __len__(self) -> int:
            return len(next(iter(columns.values())))

    return Block()


def compared(file: Path, groups: list[list[str]]) -> None:
    right, ours = call_root(of_root, str(file), groups), block(file)
    wrong = []
    for texts, events in zip(groups, right, strict=True):
        for number, text in enumerate(texts):
            found = ak.to_list(ak.values_astype(Expression(text)(ours), np.int64))
            wanted = [event[number] for event in events]
            if found != wanted:
                wrong.append(f"{text}: {found}, RDataFrame has {wanted}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
def test_two_integers_of_any_types_are_computed_as_rdataframe_does(file: Path) -> None:
    groups = [[f"a_{one} {operator} b_{other}" for one, other in PAIRS] for operator in OPERATORS]
    compared(file / "numbers.root", groups)


@pytest.mark.long
def test_an_integer_and_a_number_are_computed_as_rdataframe_does(file: Path) -> None:
    compared(file / "numbers.root", [OF_ONE])


@pytest.mark.slow
def test_lists_of_integers_are_computed_as_rdataframe_does(file: Path) -> None:
    compared(file / "lists.root", [OF_LISTS])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("sum(j_uint8)", "int64"), ("sum(j_uint8) - 10000", "int64"),
        ("-prod(j_uint8)", "int64"), ("sum(j_uint32)", "uint64"),
        ("num(j_uint8) - 5", "int64"), ("a_uint8 ** 9", "int64"), ("pow(a_int8, 2)", "float64"),
        ("sqrt(a_uint8)", "float64"), ("abs(a_int8)", "int32"), ("a_bool & b_bool", "bool"),
        ("~a_bool", "bool"), ("a_uint8 * 1.5", "float64"), ("max(a_int8, 300)", "int32"),
    ],
)  # fmt: skip
def test_what_rdataframe_has_in_other_types(file: Path, text: str, kind: str) -> None:
    """Its sums of small integers wrap; `**` is Python's; functions of integers are of doubles."""
    ours = block(file / ("lists.root" if "j_" in text else "numbers.root"))
    assert ak.to_numpy(Expression(text)(ours)).dtype == kind


def test_a_sum_of_small_integers_does_not_wrap(file: Path) -> None:
    total = Expression("sum(j_uint8)")(block(file / "lists.root"))
    assert ak.to_list(total) == [256, 0, 5 + 3 + 7 + 2]


def test_a_fraction_that_is_none_is_noted_once(file: Path) -> None:
    take_notes()
    ours = block(file / "numbers.root")
    for text in ("a_int32 / 3", "1.0 * a_int32 / 3", "a_int32 // 3", "a_int32 / 3"):
        Expression(text)(ours)
    assert [text[:40] for text in take_notes()] == [
        "'a_int32 / 3' divides two integers, which"[:40]
    ]


def test_what_needs_no_promotion_is_not_copied() -> None:
    for kind in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
        column = np.ones(3, kind)
        assert at_least_int(column) is column
    assert as_type(column := np.ones(3, np.int64), np.dtype(np.int64)) is column


@pytest.mark.parametrize("text", ["a_int32 / a_uint8", "a_uint8 % a_bool", "7 / 0", "a_int8 / 0"])
def test_an_integer_divided_by_zero_is_an_error(file: Path, text: str) -> None:
    with pytest.raises(ZeroDivisionError, match=r"1\.0 \* a / b"):
        Expression(text)(block(file / "numbers.root"))
