"""What each histogram more costs: the same, however many there are."""

from __future__ import annotations

from functools import partial

import hist
import pytest

import forkrun
from forkrun.histograms.parts import HistogramNames
from tests.support.calls import n_calls


def book(n_histograms: int) -> None:
    analyzer = forkrun.Analyzer()
    for number in range(n_histograms):
        analyzer.book(f"of/x{number}", hist.Hist(hist.axis.Regular(2, 0, 1)))


def test_to_book_a_histogram_takes_as_many_calls_where_there_are_many() -> None:
    book(1)
    few, some, many = (n_calls(partial(book, n)) for n in (10, 20, 40))
    assert many - some == 2 * (some - few)


@pytest.mark.parametrize(
    ("names", "of", "within"),
    [
        (["a/b", "a"], "a", "a/b"),
        (["a", "a/b"], "a", "a/b"),
        (["a/b/c", "x", "a/b"], "a/b", "a/b/c"),
    ],
)
def test_a_folder_cannot_be_a_histogram_too(names: list[str], of: str, within: str) -> None:
    taken = HistogramNames()
    for name in names[:-1]:
        taken.add(name)
    with pytest.raises(ValueError, match=f"there cannot be both a histogram '{of}' and '{within}'"):
        taken.add(names[-1])
