"""Modules in Python: the classes a user derives from, and what they see of an event block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import awkward as ak
import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.conditions import Conditions, ModuleConditions
from forkrun.errors import ConfigError
from forkrun.modules.code_names import names_in, texts_in
from forkrun.modules.columns import jagged_array
from forkrun.modules.datasets.dataset import Dataset, Datasets
from forkrun.modules.objects.collections import NoSuchColumnError, NoSuchNameError
from forkrun.modules.objects.reading import ModuleColumns, Reader
from forkrun.modules.random import BlockRandom
from forkrun.modules.returned import check_replaced, columns_of, mask_of, taken
from forkrun.rundir.accumulators import Total, add, total_of
from forkrun.rundir.histogram_sums import check_names

if TYPE_CHECKING:  # slow to load, and not needed before a histogram is booked
    import hist

    from forkrun.modules.datasets.histograms import HistogramsByDataset
    from forkrun.modules.histograms import BookedHistogram
    from forkrun.rundir.histogram_sums import HistogramSums

T = TypeVar("T")
H = TypeVar("H", bound="hist.BaseHist")
Kind = Literal["producer", "filter", "analyzer"]
NOMINAL = "nominal"
"""No systematic variation."""
Column: TypeAlias = Any  # ak.Array, or npt.NDArray for one value per event


class LumiRange(NamedTuple):
    """Events [first, last) of a block are of this lumi."""

    run: int
    lumi: int
    first: int
    last: int


class EventBlock:
    """Consecutive events of one IOV and one file. `block["Muon_pt"]` is a column that the module
    consumes: a NumPy array (n_events,) or, where events have any number of values, an Awkward Array
    (n_events, n). Both lie on the core's own memory and are read-only; they stay valid as long as
    they are held. Columns can only be asked for while the module is called. `block.Muon`: the
    objects of a collection, as records, which are Lorentz vectors; `block.nMuon` is
    `block["nMuon"]`."""

    def __init__(
        self,
        core: _core.Block,
        columns: Reader | None = None,
        conditions: ModuleConditions | None = None,
    ) -> None:
        self._core = core
        self._conditions = conditions
        self._reader = columns or ModuleColumns.of_names(())
        self._objects: dict[str, ak.Array] = {}
        self._columns: dict[str, Column] = {}
        self._selected: SelectedEvents | None = None
        self._random: BlockRandom | None = None
        self.dataset: Dataset | None = None
        """The one of [[datasets]] that all events belong to."""
        self.variation = NOMINAL
        """Of the call: "nominal", or a systematic variation such as "jes_up"."""

    def __len__(self) -> int:
        return self._core.n_events

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            self._columns[name] = _as_array(self.plain(name))
        return self._columns[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._reader.known.collection(name):
            return self.objects(name)
        if name in self._reader.known.types:
            return self[name]
        raise NoSuchNameError(self._reader.no_attribute(name))

    def forget(self) -> None:
        """Lets go of all columns, when the call is over: objects know their block, and it them, so
        that they would stay in memory until Python looks for such circles."""
        self._columns.clear()
        self._objects.clear()
        self._selected = None

    def plain(self, column: str) -> Any:
        """Values, or (offsets, values) of a jagged column."""
        try:
            return self._core.column(column)
        except KeyError as error:
            if isinstance(error, NoSuchColumnError):
                raise
            raise NoSuchColumnError(self._reader.not_read(column, error.args[0])) from None

    def objects(self, name: str) -> ak.Array:
        """The objects of a collection: `block.objects("Muon")` is `block.Muon`."""
        if name not in self._objects:
            self._objects[name] = self._reader.objects(self, name)
        return self._objects[name]

    def offsets(self, name: str) -> npt.NDArray[np.int64] | None:
        """(n_events + 1,) where each event's objects begin; None if nothing of them is read."""
        found: npt.NDArray[np.int64] | None = self._reader.offsets(self, name)
        return found

    @property
    def run(self) -> int:
        """The run of all events. Raises ConfigError if they are of several lumis."""
        self._check_one_lumi("run")
        return self._core.run

    @property
    def lumi(self) -> int:
        """The lumi of all events. Raises ConfigError if they are of several."""
        self._check_one_lumi("lumi")
        return self._core.lumi

    def _check_one_lumi(self, name: str) -> None:
        if self._core.n_lumis > 1:
            raise ConfigError(
                f"block.{name}: this block has events of {self._core.n_lumis} lumis; take"
                f" block.{name}s, which has a value per event, or give the module one_lumi = True"
            )

    @property
    def runs(self) -> npt.NDArray[np.uint32]:
        """(n_events,) run of each event."""
        return self._per_event(0)

    @property
    def lumis(self) -> npt.NDArray[np.uint32]:
        """(n_events,) luminosity section of each event."""
        return self._per_event(1)

    @property
    def lumi_ranges(self) -> list[LumiRange]:
        """The lumis of the block in the order of their events."""
        return [LumiRange(*row) for row in self._core.lumi_spans().tolist()]

    def _per_event(self, column: int) -> npt.NDArray[np.uint32]:
        spans = self._core.lumi_spans()
        return np.repeat(spans[:, column].astype(np.uint32), spans[:, 3] - spans[:, 2])

    @property
    def iov(self) -> int:
        """Number of the interval of validity of the conditions that the events belong to."""
        return self._core.iov

    @property
    def n_events(self) -> int:
        return self._core.n_events

    @property
    def events(self) -> npt.NDArray[np.uint64]:
        """(n_events,) event numbers."""
        return self._core.events

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(n_events,) events that the filters before an analyzer on its path have left."""
        return self._core.mask

    @property
    def selected(self) -> SelectedEvents:
        """Columns of the events in `mask` only: `block.selected["Muon_pt"]`."""
        if self._selected is None:
            self._selected = SelectedEvents(self)
        return self._selected

    @property
    def conditions(self) -> Mapping[str, Any]:
        """The conditions by label, read-only, as valid for the events."""
        return {} if self._conditions is None else self._conditions

    @property
    def random(self) -> BlockRandom:
        """Random numbers for the events: `block.random.normal(0, 1)`."""
        if self._random is None:
            self._random = BlockRandom(self._core.random())
        return self._random


class SelectedEvents:
    """The events of a block that an analyzer's path has left: `selected["Muon_pt"]`,
    `selected.Muon`, `selected.runs`."""

    def __init__(self, block: EventBlock) -> None:
        self._block = block
        self.mask = block.mask
        self._is_all = bool(self.mask.all())
        self.conditions = block.conditions
        self.variation, self.dataset = block.variation, block.dataset

    def __len__(self) -> int:
        return int(np.count_nonzero(self.mask))

    def __getitem__(self, name: str) -> Column:
        return self._left(self._block[name])

    def __getattr__(self, name: str) -> Any:
        """Objects of a collection, a column, or `runs`, `lumis`, `events`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._left(getattr(self._block, name))

    def _left(self, values: Any) -> Any:
        return values if self._is_all else values[self.mask]


class Module:
    """What producers, filters and analyzers have in common. A module declares the columns that it
    `consumes`, as class attribute or in `__init__`, whose keyword parameters are the `params` of
    the configuration. It may have any of the methods pre_fork(), post_fork(child), begin_job(),
    end_job(), begin_iov(iov), end_iov(iov), begin_run(run), end_run(run), begin_lumi(run, lumi),
    end_lumi(run, lumi)."""

    consumes: Sequence[str] | None = None
    """None: found out with the first events, as what the module then reads."""
    random_name: str = ""
    """Modules that give the same name get the same random numbers; "": the module's own."""
    one_lumi: bool = False
    """The module is called with blocks of one lumi each, so that `block.run` and `block.lumi` are
    those of all events. Modules with callbacks of runs, lumis or IOVs are so without it."""
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
    on it; `block.variation` is then "jes_up" or "jes_down"."""
    only_variation: str = ""
    """It makes its columns in this variation alone."""

    def produce(self, block: EventBlock) -> Mapping[str, Any]:
        """The columns that it declares, as NumPy or Awkward Arrays or lists, an entry per event."""
        raise NotImplementedError(f"{type(self).__name__} has no method produce(block)")


class Filter(Module):
    """Accepts or refuses events."""

    def filter(self, block: EventBlock) -> Any:
        """(n_events,) bool: the events to accept."""
        raise NotImplementedError(f"{type(self).__name__} has no method filter(block)")


class Analyzer(Module):
    """Reads, and fills histograms. Is given the blocks of a unit of work in their order."""

    def analyze(self, block: EventBlock) -> None:
        """`block.mask` says which events the path has left."""
        raise NotImplementedError(f"{type(self).__name__} has no method analyze(block)")

    def book(self, name: str, histogram: H) -> H:
        """A histogram of the job: written with every unit of work, which empties it, and summed in
        the merge. Returns it. Raises ValueError if it cannot be written to a ROOT file."""
        from forkrun.modules.histograms import BookedHistogram

        booked: dict[str, BookedHistogram] = self.__dict__.setdefault("_booked", {})
        if name in booked:
            raise ValueError(f"a histogram {name!r} is booked already")
        check_names([*booked, name])
        booked[name] = BookedHistogram(name, histogram)
        return histogram

    def accumulate(self, name: str, value: Any) -> None:
        """Adds to what the job has under this name: numbers, and all elements of arrays, are summed
        without rounding, dicts key by key, sets united, lists joined in the order of the input,
        objects merged by their `merge(other)` (they also have `to_json()`, and the class method
        `from_json(state)`). In `result.accumulators` and output/accumulators.json. Raises TypeError
        for anything else."""
        if isinstance(value, ak.Array):
            value = ak.to_numpy(ak.flatten(value, axis=None), allow_missing=False)
        add(self.__dict__.setdefault("_accumulated", {}), name, total_of(value))

    def booked(self) -> dict[str, hist.BaseHist]:
        """All booked histograms by name."""
        booked: dict[str, BookedHistogram] = self.__dict__.get("_booked", {})
        return {name: each.histogram for name, each in booked.items()}


JOB_CALLBACKS = {"pre_fork", "post_fork", "begin_job", "end_job"}
MODULE_CALLBACKS = JOB_CALLBACKS | {
    "begin_iov",
    "end_iov",
    "begin_run",
    "end_run",
    "begin_lumi",
    "end_lumi",
}
METHODS = {"producer": "produce", "filter": "filter", "analyzer": "analyze"}
"""The method that is called with each block, by kind."""
KINDS: tuple[tuple[Kind, type[Module]], ...] = (
    ("producer", Producer),
    ("filter", Filter),
    ("analyzer", Analyzer),
)


class PythonModule:
    """A user's module as the core calls it: with the core's blocks, returning plain arrays. The
    module sees the conditions of the events that it is called with."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._conditions = module.conditions
        if not isinstance(self._conditions, ModuleConditions):
            self._conditions = ModuleConditions(Conditions.of_values({}))
        self.kind: Kind = next(kind for kind, base in KINDS if isinstance(module, base))
        produces = module.produces if isinstance(module, Producer) else {}
        self.is_declared = module.consumes is not None and produces is not None
        self.consumes = list(module.consumes or ())
        self.produces = dict(produces or {})
        self.columns: Reader = ModuleColumns.of_names(self.consumes)
        self.replaces = list(module.replaces) if isinstance(module, Producer) else []
        self.variations = variations_of(module)
        self.only_variation = module.only_variation if isinstance(module, Producer) else ""
        self.variation = self.only_variation or NOMINAL
        self.datasets: Datasets | None = None
        self._by_dataset: HistogramsByDataset | None = None
        self.random_name = module.random_name
        self.one_lumi = bool(module.one_lumi)

    def __getattr__(self, name: str) -> Any:
        """Callbacks, where the user's module has them."""
        method = getattr(self.module, name)
        return partial(self._call_back, name, method) if name in MODULE_CALLBACKS else method

    def enter_iov(self, iov: int) -> None:
        """The next callback is of a run or lumi in this IOV, or of the IOV itself."""
        self._conditions.enter_iov(iov)

    def _call_back(self, name: str, method: Callable[..., None], *arguments: int) -> None:
        if name in JOB_CALLBACKS:
            self._conditions.leave()
        try:
            method(*arguments)
        except Exception as error:
            self._conditions.raise_for_write(error)
            raise

    def _call(self, method: Callable[[EventBlock], T], block: _core.Block) -> T:
        self._conditions.enter_iov(block.iov)
        events = EventBlock(block, self.columns, self._conditions)
        events.variation = self.variation
        if self.datasets:
            events.dataset = self.datasets.datasets[self.datasets.number(block.file)]
        try:
            return method(events)
        except Exception as error:
            self._conditions.raise_for_write(error)
            raise
        finally:
            events.forget()

    @property
    def wants_one_lumi(self) -> bool:
        """Whether its blocks are of one lumi each."""
        return self.one_lumi or any(
            hasattr(self.module, name) for name in MODULE_CALLBACKS - JOB_CALLBACKS
        )

    def call(self, method: str, block: Any) -> Any:
        """What the user's method gives. `block`: the core's, or what is like it."""
        return self._call(getattr(self.module, method), block)

    def found_out(self, reads: Sequence[str], produces: Mapping[str, str] | None) -> None:
        """Completes what the module does not declare. What it declares stays."""
        if self.module.consumes is None:
            self.consumes = list(reads)
        if produces:
            self.produces = dict(produces)
        self.is_declared = True

    def names(self) -> set[str]:
        """Names and texts in the code of its methods, or in its expression, and in what it has."""
        own = getattr(self.module, "function", None)
        weight = getattr(self.module, "weight", None)
        kinds = [kind for kind in type(self.module).__mro__ if kind.__module__ != __name__]
        members = [member for kind in kinds for member in vars(kind).values()]
        methods = [own, weight] if own else [member for member in members if callable(member)]
        texts = texts_in([*vars(self.module).values(), *(() if own else members)])
        return {name for method in methods for name in names_in(method)}.union(texts)

    def produce(self, block: _core.Block) -> dict[str, Any]:
        assert isinstance(self.module, Producer)
        columns = self._call(self.module.produce, block)
        made = taken(self.module.produce, columns_of, columns, self.produces, block.n_events)
        for name in self.replaces:
            taken(self.module.produce, check_replaced, name, block.column(name), made[name])
        return made

    def filter(self, block: _core.Block) -> npt.NDArray[Any]:
        assert isinstance(self.module, Filter)
        mask = self._call(self.module.filter, block)
        return taken(self.module.filter, mask_of, mask, block.n_events)

    def analyze(self, block: _core.Block) -> None:
        assert isinstance(self.module, Analyzer)
        if self._by_dataset and self.datasets:
            self._by_dataset.enter(self.datasets.number(block.file))
        self._call(self.module.analyze, block)

    def histograms(self) -> dict[str, BookedHistogram]:
        booked: dict[str, BookedHistogram] = self.module.__dict__.get("_booked", {})
        return booked

    def keep_apart(self, label: str, datasets: Datasets | None, n_more: int) -> None:
        """Gives histograms an axis of datasets. `n_more`: of axes that come behind it."""
        self.datasets = datasets
        if datasets and (booked := self.histograms()):
            from forkrun.modules.datasets.histograms import HistogramsByDataset

            self._by_dataset = HistogramsByDataset(label, datasets, booked, n_more)

    def take_histograms(self, label: str) -> list[tuple[str, HistogramSums]]:
        """Name and sums of each as filled so far."""
        if self._by_dataset:
            return self._by_dataset.take()
        return [(name, each.take(label)) for name, each in self.histograms().items()]

    def take_accumulated(self) -> dict[str, Total]:
        """What was accumulated since this was last asked."""
        accumulated: dict[str, Total] = self.module.__dict__.pop("_accumulated", {})
        return accumulated

    def clear(self) -> None:
        """Empties all histograms and accumulators."""
        self.take_accumulated()
        if self._by_dataset:
            self._by_dataset.clear()
        for histogram in self.histograms().values():
            histogram.clear()


def variations_of(module: Module) -> list[str]:
    """Names of the systematic variations of a producer: "jes_up"."""
    declared = module.variations if isinstance(module, Producer) else {}
    return [f"{name}_{direction}" for name, all_of in declared.items() for direction in all_of]


def _as_array(column: Any) -> Column:
    if not isinstance(column, tuple):
        return column
    return jagged_array(*column)
