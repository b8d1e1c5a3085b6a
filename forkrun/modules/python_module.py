"""Modules in Python in the form called by the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.user_text import leaves
from forkrun.conditions import Conditions, ModuleConditions
from forkrun.config.modules import NOMINAL
from forkrun.histograms.accumulators.totals import Total
from forkrun.modules.base import Analyzer, Filter, Module, Producer
from forkrun.modules.block import EventBlock
from forkrun.modules.columns import events_left_of, spread
from forkrun.modules.datasets.dataset import Dataset, Datasets
from forkrun.modules.expressions import Expression
from forkrun.modules.objects.reading import ModuleColumns, Reader
from forkrun.modules.program.code_uses import names_of
from forkrun.modules.returned import check_replaced, columns_of, decision_of, taken

if TYPE_CHECKING:  # slow to load, and not needed before a histogram is booked
    from forkrun.histograms.booking import BookedHistogram
    from forkrun.histograms.finished import HistogramsByDataset
    from forkrun.histograms.parts import HistogramSums

T = TypeVar("T")
Kind = Literal["producer", "filter", "analyzer"]
Place = tuple[int, int, int]
"""Place of a block: lane, file, entry of its first event."""

JOB_CALLBACKS = {"pre_fork", "post_fork", "begin_job", "end_job"}
DATASET_CALLBACKS = {"begin_dataset", "end_dataset"}
MODULE_CALLBACKS = (
    JOB_CALLBACKS
    | DATASET_CALLBACKS
    | {
        "begin_iov",
        "end_iov",
        "begin_run",
        "end_run",
        "begin_lumi",
        "end_lumi",
    }
)
METHODS = {"producer": "produce", "filter": "filter", "analyzer": "analyze"}
"""Method called with each block, by kind."""
KINDS: tuple[tuple[Kind, type[Module]], ...] = (
    ("producer", Producer),
    ("filter", Filter),
    ("analyzer", Analyzer),
)


class PythonModule:
    """A user's module in the form called by the core: it takes the core's blocks and returns plain
    arrays. During calls, the module sees the conditions valid for the events."""

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
        self.asked = set(self.replaces)
        """Columns requested in this process, or in its ancestors before their forks."""
        self.variations = variations_of(module)
        self.only_variation = module.only_variation if isinstance(module, Producer) else ""
        self.variation = self.only_variation or NOMINAL
        self.datasets: Datasets | None = None
        self.lacked: Mapping[int, frozenset[str]] = {}
        """Input columns that files lack, by number of the dataset."""
        self._readers: dict[str, tuple[Reader, Reader]] = {}
        self._by_dataset: HistogramsByDataset | None = None
        self.random_name = module.random_name
        self.one_lumi = bool(module.one_lumi)
        self.on_decision: list[Callable[[Place, npt.NDArray[np.bool_] | None], None]] = []
        """Called for each block of a filter, with the events whose value is missing."""

    def __getattr__(self, name: str) -> Any:
        """Callbacks, if the user's module has them."""
        method = getattr(self.module, name)
        return partial(self._call_back, name, method) if name in MODULE_CALLBACKS else method

    def enter_iov(self, iov: int) -> None:
        """Enters the IOV of the next callback, of a dataset, run or lumi, or of the IOV itself."""
        self._conditions.enter_iov(iov)

    def _call_back(self, name: str, method: Callable[..., None], *arguments: Any) -> None:
        if name in JOB_CALLBACKS:
            self._conditions.leave()
        if name in DATASET_CALLBACKS:
            if self.datasets is None:
                return
            arguments = (self.datasets.datasets[arguments[0]],)
        try:
            method(*arguments)
        except Exception as error:
            self._conditions.raise_for_write(error)
            raise

    def _call(self, method: Callable[[EventBlock], T], block: Any) -> T:
        """`block`: of the core, or EventsLeft of one."""
        self._conditions.enter_iov(block.iov)
        events = EventBlock(block, self._reader(block), self._conditions, self.asked)
        events.variation = self.variation
        events.dataset = self._dataset(block)
        try:
            return method(events)
        except Exception as error:
            self._conditions.raise_for_write(error)
            raise
        finally:
            events.forget()

    def _dataset(self, block: Any) -> Dataset | None:
        """Dataset of the block's events; None if the job has none."""
        each = self.datasets
        return each.datasets[each.number(block.file)] if each else None

    def _lacks(self, block: Any) -> frozenset[str]:
        """Input columns that the files of the block's events lack."""
        each = self.datasets
        nothing = frozenset[str]()
        return self.lacked.get(each.number(block.file), nothing) if each else nothing

    def _reader(self, block: Any) -> Reader:
        """Reader for the columns that the block's events have."""
        lacked, dataset = self._lacks(block), self._dataset(block)
        if not lacked or dataset is None:
            return self.columns
        made_of, reader = self._readers.get(dataset.name, (None, self.columns))
        if made_of is not self.columns:
            reader = self.columns.without(lacked, dataset.name)
            self._readers[dataset.name] = self.columns, reader
        return reader

    @property
    def knows_dataset(self) -> bool:
        """Whether it may request different columns in different datasets. Expressions request the
        same columns for all events."""
        made_of = (getattr(self.module, name, None) for name in ("function", "weight"))
        return not any(isinstance(each, Expression) for each in made_of)

    def always_read(self, is_data: bool) -> set[str]:
        """Columns requested in every event of data, or of simulation."""
        if is_data and not getattr(self.module, "on_data", True):
            return {*self.replaces}
        return set() if self.knows_dataset else {*self.consumes}

    @property
    def has_transitions(self) -> bool:
        """Whether it has callbacks of datasets, runs, lumis or IOVs."""
        return has_transitions(self.module)

    @property
    def wants_one_lumi(self) -> bool:
        """Whether it is called with events of one lumi."""
        return wants_one_lumi(self.module)

    def call(self, method: str, block: Any) -> Any:
        """Result of the user's method. `block`: of the core, or a stand-in for one."""
        return self._call(getattr(self.module, method), block)

    def taken(self, take: Callable[..., T], *arguments: Any) -> T:
        """`take(*arguments)` for a result of the user's method. Raises TypeError with the place of
        the method."""
        method = getattr(self.module, METHODS[self.kind])
        author = getattr(self.module, "function", method)
        return taken(method, author, take, *arguments)

    def found_out(self, reads: Sequence[str], produces: Mapping[str, str] | None) -> None:
        """Completes undeclared reads and products. Declarations stay."""
        if self.module.consumes is None:
            self.consumes = list(reads)
        if produces:
            self.produces = dict(produces)
        self.is_declared = True

    def names(self) -> set[str]:
        """Names and texts in the code of its methods or its expression, and texts in its
        attributes."""
        members = [] if hasattr(self.module, "function") else self._members()
        texts = {t for t in leaves([*vars(self.module).values(), *members]) if isinstance(t, str)}
        return {name for method in self.methods() for name in names_of(method)}.union(texts)

    def methods(self) -> list[Callable[..., Any]]:
        """Functions written by the user: methods of the class, or the function and that of the
        weights."""
        given = [getattr(self.module, name, None) for name in ("function", "weight")]
        members = given if given[0] else self._members()
        return [member for member in members if callable(member)]

    def _members(self) -> list[Any]:
        kinds = [kind for kind in type(self.module).__mro__ if kind.__module__ != Module.__module__]
        return [member for kind in kinds for member in vars(kind).values()]

    def produce(self, block: _core.Block) -> dict[str, Any]:
        assert isinstance(self.module, Producer)
        if (kept := self.unchanged_columns(block)) is not None:
            return kept
        events = events_left_of(block)
        columns = self._call(self.module.produce, events)
        made = self.taken(columns_of, columns, self.produces, events.n_events)
        for name in (each for each in self.replaces if each not in self._lacks(block)):
            self.taken(check_replaced, name, events.column(name), made[name])
        if events is block:
            return made
        return {name: spread(column, events.left) for name, column in made.items()}

    def unchanged_columns(self, block: Any) -> dict[str, Any] | None:
        """Columns that it would replace, if the events are data that it leaves unchanged; else
        None."""
        dataset = self._dataset(block)
        if getattr(self.module, "on_data", True) or not (dataset and dataset.is_data):
            return None
        return {name: block.column(name) for name in self.replaces}

    def filter(self, block: _core.Block) -> npt.NDArray[Any]:
        assert isinstance(self.module, Filter)
        events = events_left_of(block)
        made = self._call(self.module.filter, events)
        decision = self.taken(decision_of, made, events.n_events)
        if events is not block:
            decision = decision.spread(events.left)
        for tell in self.on_decision:
            tell(block.place, decision.missing)
        return decision.accepted

    def analyze(self, block: _core.Block) -> None:
        assert isinstance(self.module, Analyzer)
        if self._by_dataset and self.datasets:
            self._by_dataset.enter(self.datasets.number(block.file))
        self._call(self.module.analyze, events_left_of(block))

    def histograms(self) -> dict[str, BookedHistogram]:
        booked: dict[str, BookedHistogram] = self.module.__dict__.get("_booked", {})
        return booked

    def separate_datasets(self, label: str, datasets: Datasets | None, n_more: int) -> None:
        """Gives histograms an axis of datasets. `n_more`: number of axes added after it."""
        self.datasets = datasets
        if datasets and (booked := self.histograms()):
            from forkrun.histograms.finished import HistogramsByDataset

            self._by_dataset = HistogramsByDataset(label, datasets.names, booked, n_more)

    @property
    def datasets_in_names(self) -> Sequence[str]:
        """Datasets in the names of histograms."""
        return self._by_dataset.named if self._by_dataset else []

    def take_histograms(self, label: str) -> list[tuple[str, HistogramSums]]:
        """Name and sums of each histogram so far."""
        if self._by_dataset:
            return self._by_dataset.take()
        return [(name, each.take(label)) for name, each in self.histograms().items()]

    def take_accumulated(self) -> dict[str, Total]:
        """Returns totals accumulated since the last call, and clears them."""
        accumulated: dict[str, Total] = self.module.__dict__.pop("_accumulated", {})
        return accumulated

    def clear(self) -> None:
        """Empties all histograms and accumulators."""
        self.take_accumulated()
        if self._by_dataset:
            self._by_dataset.clear()
        for histogram in self.histograms().values():
            histogram.clear()


def wants_one_lumi(module: Module | type[Module]) -> bool:
    """Whether a module, or a class of modules, is called with events of one lumi."""
    return bool(module.one_lumi) or has_transitions(module)


def has_transitions(module: Module | type[Module]) -> bool:
    """Whether it has callbacks of datasets, runs, lumis or IOVs."""
    return any(hasattr(module, name) for name in MODULE_CALLBACKS - JOB_CALLBACKS)


def variations_of(module: Module) -> list[str]:
    """Names of the systematic variations of a producer: "jes_up"."""
    declared = module.variations if isinstance(module, Producer) else {}
    return [f"{name}_{direction}" for name, all_of in declared.items() for direction in all_of]


class VariedModule(PythonModule):
    """A module called again for a systematic variation. It is the same object, without
    callbacks."""

    def __init__(self, nominal: PythonModule, variation: str) -> None:
        super().__init__(nominal.module)
        self.consumes, self.produces = nominal.consumes, nominal.produces
        self.lacked = nominal.lacked
        self.datasets, self.columns, self.variation = nominal.datasets, nominal.columns, variation

    def __getattr__(self, name: str) -> Any:
        if name in MODULE_CALLBACKS:
            raise AttributeError(name)
        return super().__getattr__(name)
