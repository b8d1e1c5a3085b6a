"""Modules in Python: the classes that a user derives from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from forkrun.base.arguments import check_flags, check_text
from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.histograms.accumulators.totals import add, total_of
from forkrun.histograms.sums import HistogramNames
from forkrun.modules.block import EventBlock

if TYPE_CHECKING:  # slow to load, and not needed before a histogram is booked
    import hist

    from forkrun.histograms.booking import BookedHistogram

H = TypeVar("H", bound="hist.BaseHist")


class Module:
    """What producers, filters and analyzers have in common. A module declares the columns that it
    `consumes`, as class attribute or in `__init__`, whose keyword parameters are the `params` of
    the configuration. It may have any of the methods pre_fork(), post_fork(child), begin_job(),
    end_job(), begin_iov(iov), end_iov(iov), begin_dataset(dataset), end_dataset(dataset),
    begin_run(run), end_run(run), begin_lumi(run, lumi), end_lumi(run, lumi)."""

    consumes: Sequence[str] | None = None
    """None: found out with the first events, as what the module then reads."""
    random_name: str = ""
    """Modules that give the same name get the same random numbers; "": the module's own."""
    one_lumi: bool | Literal["job"] = False
    """The module is called with events of one lumi: `events.run` and `events.lumi` are those of all
    events. Modules with callbacks of datasets, runs, lumis or IOVs are so without it. Others get
    larger blocks; with "job" they do not: all modules of the job get blocks of one lumi."""
    conditions: Any = None
    """In a class: labels of the conditions that it reads, if it declares them. In a module: the
    conditions by label, read-only, as valid for the events that it is called with."""


class Producer(Module):
    """Makes columns. `produces`: their types by name, such as {"Dimuon_mass": "float32"} for one
    value per event or {"GoodMuon_pt": "float32[]"} for any number; None: found out with the first
    events."""

    produces: Mapping[str, str] | None = None
    replaces: Sequence[str] = ()
    """Columns that it makes anew: modules behind it see these, and `NAME@input` the old ones."""
    variations: Mapping[str, Sequence[str]] = {}
    """Systematic variations, {"jes": ("up", "down")}: it is called again for each, and what depends
    on it; `events.variation` is then "jes_up" or "jes_down"."""
    only_variation: str = ""
    """It makes its columns in this variation alone."""
    on_data: bool = True
    """False: events of data keep the columns that it replaces."""

    def produce(self, events: EventBlock) -> Mapping[str, Any]:
        """The columns that it declares, as NumPy or Awkward Arrays or lists, an entry per event."""
        raise NotImplementedError(f"{type(self).__name__} has no method produce(events)")


class Filter(Module):
    """Accepts or refuses events."""

    def filter(self, events: EventBlock) -> Any:
        """(n_events,) bool: the events to accept."""
        raise NotImplementedError(f"{type(self).__name__} has no method filter(events)")


class Analyzer(Module):
    """Reads, and fills histograms. Is given the blocks of a unit of work in their order."""

    def analyze(self, events: EventBlock) -> None:
        """`events`: those that the path has left."""
        raise NotImplementedError(f"{type(self).__name__} has no method analyze(events)")

    def book(self, name: str, histogram: H, *, sparse: bool = False) -> H:
        """A histogram of the job: written with every unit of work, which empties it, and summed in
        the merge. Returns what is to be filled. `sparse`: only its filled bins are in the file (a
        THnSparse, as of more than three axes). Raises ValueError if a ROOT file
        cannot hold it."""
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
        """Adds to what the job has under this name: numbers, and all elements of arrays, are summed
        without rounding, dicts key by key, sets united, lists joined in the order of the input,
        objects merged by their `merge(other)` (they also have `to_json()`, and the class method
        `from_json(state)`). In `result.accumulators` and output/accumulators.json. Raises TypeError
        for anything else."""
        check_text("self.accumulate(…)", "name", name)
        value = with_none(value)
        if is_awkward(value):
            value = ak.to_numpy(ak.flatten(value, axis=None), allow_missing=False)
        add(self.__dict__.setdefault("_accumulated", {}), name, total_of(value))

    def booked(self) -> dict[str, hist.BaseHist]:
        """All booked histograms by name."""
        booked: dict[str, BookedHistogram] = self.__dict__.get("_booked", {})
        return {name: each.histogram for name, each in booked.items()}
