"""An event block as modules in Python see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.awkward_array import ak, is_awkward, with_none
from forkrun.conditions import ModuleConditions
from forkrun.config.modules import NOMINAL
from forkrun.errors import ConfigError
from forkrun.modules.columns import EventsLeft, as_array
from forkrun.modules.datasets.dataset import Dataset
from forkrun.modules.objects.collections import NoSuchColumnError, NoSuchNameError
from forkrun.modules.objects.reading import ModuleColumns, Reader
from forkrun.modules.random import BlockRandom

Column: TypeAlias = Any  # ak.Array, or npt.NDArray for one value per event


class LumiRange(NamedTuple):
    """Range [first, last) of a block's events with the same lumi."""

    run: int
    lumi: int
    first: int
    last: int


class EventBlock:
    """Consecutive events of one IOV and one file. `events["Muon_pt"]` is a column that the module
    consumes: a NumPy array (n_events,), of arrays of fixed size (n_events, 4) or, where events have
    any number of values or texts, an Awkward Array (n_events, n). Both lie on the core's own memory
    and are read-only; they stay valid as long as they are held. Columns can only be asked for while
    the module is called. `events.Muon`: the objects of a collection, as records, which are Lorentz
    vectors; `events.nMuon` is `events["nMuon"]`; `events[mask]`: the events for which the mask,
    (n_events,) bool, is true. What the block has itself goes before columns and collections:
    `events.variation` is that of the call, and `events["variation"]` a column of this name."""

    def __init__(
        self,
        core: _core.Block | EventsLeft,
        columns: Reader | None = None,
        conditions: ModuleConditions | None = None,
        asked: set[str] | None = None,
    ) -> None:
        """`core`: block of the core, or EventsLeft of one."""
        self._core = core
        self._asked = set() if asked is None else asked
        self._conditions = conditions
        self._reader = columns or ModuleColumns.of_names(())
        self._objects: dict[str, ak.Array] = {}
        self._columns: dict[str, Column] = {}
        self._selected: SelectedEvents | None = None
        self._random: BlockRandom | None = None
        self.dataset: Dataset | None = None
        """Dataset of all these events."""
        self.variation = NOMINAL
        """Variation of the call: "nominal", or a systematic variation such as "jes_up"."""

    def __len__(self) -> int:
        return self._core.n_events

    @property
    def column_types(self) -> Mapping[str, str]:
        """Types of all columns that the events have, by name."""
        return self._reader.known.types

    def __getitem__(self, name: Any) -> Any:
        if not isinstance(name, str):
            return SelectedEvents(self, name)
        if name not in self._columns:
            self._columns[name] = as_array(self.plain(name), self.may_lack(name))
        return self._columns[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._reader.known.types:
            return self[name]
        if self._reader.known.collection(name):
            return self.objects(name)
        raise NoSuchNameError(self._reader.no_attribute(name))

    def forget(self) -> None:
        """Drops all columns at the end of a call: objects and their block refer to each other, so
        they would stay in memory until Python collects such cycles."""
        self._columns.clear()
        self._objects.clear()
        self._selected = None

    def plain(self, column: str) -> Any:
        """Values, or (offsets, values) of a jagged column; see forkrun.modules.columns."""
        if column in self._reader.known.lacked:
            raise NoSuchColumnError(self._reader.known.names_there.no_column(column))
        self._asked.add(column)
        try:
            return self._core.column(column)
        except KeyError as error:
            if isinstance(error, NoSuchColumnError):
                raise
            raise NoSuchColumnError(self._reader.not_read(column, error.args[0])) from None

    def may_lack(self, column: str) -> bool:
        """Whether some of its numbers may be missing."""
        return column in self._reader.made

    def objects(self, name: str) -> ak.Array:
        """The objects of a collection: `events.objects("Muon")` is `events.Muon`."""
        if name not in self._objects:
            self._objects[name] = self._reader.objects(self, name)
        return self._objects[name]

    def offsets(self, name: str) -> npt.NDArray[np.int64] | None:
        """(n_events + 1,) beginning of each event's objects; None if none of their columns is
        read."""
        found: npt.NDArray[np.int64] | None = self._reader.offsets(self, name)
        return found

    @property
    def run(self) -> int:
        """Run of all events. Raises ConfigError if they belong to several lumis."""
        self._check_one_lumi("run")
        return self._core.run

    @property
    def lumi(self) -> int:
        """Lumi of all events. Raises ConfigError if they belong to several."""
        self._check_one_lumi("lumi")
        return self._core.lumi

    def _check_one_lumi(self, name: str) -> None:
        if self._core.n_lumis > 1:
            raise ConfigError(
                f"events.{name}: these are events of several lumis; use"
                f" events.{name}s, which has a value per event, or give the module one_lumi = True"
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
        """Lumis of the block in the order of their events."""
        return [LumiRange(*row) for row in self._core.lumi_spans().tolist()]

    def _per_event(self, column: int) -> npt.NDArray[np.uint32]:
        spans = self._core.lumi_spans()
        return np.repeat(spans[:, column].astype(np.uint32), spans[:, 3] - spans[:, 2])

    @property
    def iov(self) -> int:
        """Number of the events' interval of validity of the conditions."""
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
        """(n_events,) True: modules are called with the events left by filters."""
        return self._core.mask

    @property
    def selected(self) -> SelectedEvents:
        """Columns of the events in `mask` only: `events.selected["Muon_pt"]`."""
        if self._selected is None:
            self._selected = SelectedEvents(self, self.mask)
        return self._selected

    @property
    def conditions(self) -> Mapping[str, Any]:
        """Conditions by label, read-only, valid for these events."""
        return {} if self._conditions is None else self._conditions

    @property
    def random(self) -> BlockRandom:
        """Random numbers for the events: `events.random.normal(0, 1)`."""
        if self._random is None:
            left = self._core.left if isinstance(self._core, EventsLeft) else None
            self._random = BlockRandom(self._core.random(), left)
        return self._random


class SelectedEvents:
    """Some events of a block: `selected["Muon_pt"]`, `selected.Muon`, `selected.runs`;
    `selected[mask]`: a part of these. `mask`: (n_events,) bool, for the events of the block."""

    def __init__(self, block: EventBlock, mask: Any) -> None:
        self._block = block
        self.mask = chosen_events(mask, len(block))
        self._is_all = bool(self.mask.all())
        self.conditions = block.conditions
        self.variation, self.dataset = block.variation, block.dataset

    def __len__(self) -> int:
        return int(np.count_nonzero(self.mask))

    @property
    def column_types(self) -> Mapping[str, str]:
        """Types of all columns of the job, by name."""
        return self._block.column_types

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str):
            return self._left(self._block[name])
        mask = self.mask.copy()
        mask[mask] = chosen_events(name, len(self))
        return SelectedEvents(self._block, mask)

    def __getattr__(self, name: str) -> Any:
        """A column, or objects of a collection; `runs`, `lumis`, `events`; `run`, `lumi`, `iov`."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("run", "lumi", "iov"):
            return getattr(self._block, name)
        if name in ("runs", "lumis", "events"):
            return self._left(getattr(self._block, name))
        if name == "lumi_ranges":
            raise NoSuchNameError("lumi_ranges are of all events: events.lumi_ranges")
        return self[name] if name in self.column_types else self.objects(name)

    def objects(self, name: str) -> ak.Array:
        """Objects of a collection of any name."""
        return self._left(self._block.objects(name))

    @property
    def n_events(self) -> int:
        return len(self)

    @property
    def random(self) -> BlockRandom:
        """Random numbers for these events, the same as among all events."""
        return self._block.random.of_some(self.mask)

    def _left(self, values: Any) -> Any:
        return values if self._is_all else values[self.mask]


def chosen_events(mask: Any, n_events: int) -> npt.NDArray[np.bool_]:
    """(n_events,) bool, from a user's mask; None counts as False. Raises TypeError."""
    what = "events[…] takes the name of a column, or one bool per event"
    mask = with_none(mask)
    if is_awkward(mask):
        if mask.ndim != 1:
            raise TypeError(f"{what}, not {mask.type}: ak.any(mask, axis=1)")
        mask = ak.to_numpy(ak.fill_none(mask, False))
    flags = np.asarray(mask)
    if flags.dtype.kind != "b" or flags.shape != (n_events,):
        raise TypeError(f"{what}: {n_events} of them, not {flags.dtype} of shape {flags.shape}")
    return flags
