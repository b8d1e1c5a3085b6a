"""Base classes of modules in Python, from which users derive theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from forkrun.base.arguments import check_flags, check_text
from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.histograms.accumulators.totals import add, total_of
from forkrun.histograms.parts import HistogramNames
from forkrun.modules.block import EventBlock

if TYPE_CHECKING:  # slow to load, and not needed before a histogram is booked
    import hist

    from forkrun.histograms.booking import BookedHistogram

H = TypeVar("H", bound="hist.BaseHist")


class Module:
    """Base of producers, filters and analyzers. A module declares the columns that it `consumes`,
    as a class attribute or in `__init__`, whose keyword parameters are the `params` of the
    configuration. It may have any of the methods pre_fork(), post_fork(child), begin_job(),
    end_job(), begin_iov(iov), end_iov(iov), begin_dataset(dataset), end_dataset(dataset),
    begin_run(run), end_run(run), begin_lumi(run, lumi), end_lumi(run, lumi)."""

    consumes: Sequence[str] | None = None
    """None: found by calling the module with the first events."""
    random_name: str = ""
    """Modules with the same name get the same random numbers; "": numbers of the module's own."""
    one_lumi: bool | Literal["job"] = False
    """The module is called with events of one lumi: `events.run` and `events.lumi` hold for all of
    them. This is always so for modules with callbacks of datasets, runs, lumis or IOVs. Other
    modules get larger blocks, unless this is "job": then all modules of the job get blocks of one
    lumi."""
    conditions: Any = None
    """In a class: labels of the conditions that it reads, if it declares them. In a module: the
    conditions by label, read-only, valid for the events of the call."""


class Producer(Module):
    """Makes columns. `produces`: their types by name, such as {"Dimuon_mass": "float32"} for one
    value per event or {"GoodMuon_pt": "float32[]"} for any number; None: found by calling the
    module with the first events."""

    produces: Mapping[str, str] | None = None
    replaces: Sequence[str] = ()
    """Columns that it replaces: later modules see the new ones, and the old ones as
    `NAME@input`."""
    variations: Mapping[str, Sequence[str]] = {}
    """Systematic variations, {"jes": ("up", "down")}: the producer is called again for each, and so
    is everything that depends on it; `events.variation` is then "jes_up" or "jes_down"."""
    only_variation: str = ""
    """The only variation in which it makes its columns."""
    on_data: bool = True
    """False: events of data keep the columns that it replaces."""

    def produce(self, events: EventBlock) -> Mapping[str, Any]:
        """The declared columns, as NumPy or Awkward Arrays or lists, with an entry per event."""
        raise NotImplementedError(f"{type(self).__name__} has no method produce(events)")


class Filter(Module):
    """Accepts or refuses events."""

    def filter(self, events: EventBlock) -> Any:
        """(n_events,) bool: whether to accept each event."""
        raise NotImplementedError(f"{type(self).__name__} has no method filter(events)")


class Analyzer(Module):
    """Reads events and fills histograms. Gets the blocks of a unit of work in order."""

    def analyze(self, events: EventBlock) -> None:
        """`events`: those left by the filters of the path."""
        raise NotImplementedError(f"{type(self).__name__} has no method analyze(events)")

    def book(self, name: str, histogram: H, *, sparse: bool = False) -> H:
        """Books a histogram of the job: written and emptied with every unit of work, and summed in
        the merge. Returns the histogram to fill. `sparse`: only filled bins are in the file (a
        THnSparse, as for more than three axes). Raises ValueError if a ROOT file cannot hold it."""
        from forkrun.histograms.booking import BookedHistogram

        check_text("self.book(…)", "name", name)
        check_flags(f'self.book("{name}", …)', sparse=sparse)
        booked: dict[str, BookedHistogram] = self.__dict__.setdefault("_booked", {})
        if name in booked:
            raise ValueError(f"a histogram {name!r} is booked already")
        self.__dict__.setdefault("_histogram_names", HistogramNames()).add(name)
        booked[name] = BookedHistogram(name, histogram, sparse)
        filled: H = booked[name].histogram
        return filled

    def accumulate(self, name: str, value: Any) -> None:
        """Adds to the job's total with this name: numbers and all elements of arrays are summed
        without rounding, dicts key by key, sets united, lists joined in the order of the input, and
        objects merged by their `merge(other)` (they also have `to_json()`, and the class method
        `from_json(state)`). Totals are in `result.accumulators` and output/accumulators.json.
        Raises TypeError for anything else."""
        check_text("self.accumulate(…)", "name", name)
        value = with_none(value)
        if is_awkward(value):
            value = ak.to_numpy(ak.flatten(value, axis=None), allow_missing=False)
        add(self.__dict__.setdefault("_accumulated", {}), name, total_of(value))

    def booked(self) -> dict[str, hist.BaseHist]:
        """All booked histograms by name."""
        booked: dict[str, BookedHistogram] = self.__dict__.get("_booked", {})
        return {name: each.histogram for name, each in booked.items()}
