"""The conditions of a job as modules see them: one consistent set for each IOV."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.lumis import Keys
from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural, size
from forkrun.conditions.guard import error_of_write
from forkrun.conditions.iov import IovTable
from forkrun.conditions.loading import Payload, describe_arrays, load_payload
from forkrun.conditions.sources import ConditionSource

_NO_IOV = -1


class ConditionNotThereError(KeyError):
    """There is no such condition, or not here."""

    __str__ = Exception.__str__


class Snapshot(dict[str, Any]):
    """Values of all conditions in one IOV, by label. Those that are loaded on first need are put in
    when they are asked for."""

    def __init__(self, iov: int, conditions: Conditions, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.iov = iov
        self._conditions = conditions

    def __missing__(self, label: str) -> Any:
        return self._conditions.load_into(self, label)


class Conditions:
    """All conditions of a job. `snapshots`: by IOV. `outside`: what is the same for all events, for
    where none is processed: while modules are constructed, at the begin and end of a job."""

    def __init__(
        self,
        sources: Sequence[ConditionSource],
        table: IovTable,
        prefetched: Mapping[tuple[str, int], Payload],
        n_kept: int = 1,
    ) -> None:
        """`prefetched`: by label and payload number; of the others each process keeps `n_kept`."""
        self.sources = {source.label: source for source in sources}
        self.labels: Collection[str] = self.sources.keys()
        self.table = table
        self.prefetched = prefetched
        self._n_kept = n_kept
        self._kept: dict[str, OrderedDict[int, Payload]] = {}
        self.snapshots = [self._snapshot(iov) for iov in range(len(table.intervals))]
        self.outside = Snapshot(_NO_IOV, self, self._everywhere_the_same())
        self.core = self._make_core()

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> Conditions:
        """The same values for all events, for tests and programs without a configuration."""
        table = IovTable(np.zeros(0, dtype=np.int32), (), ())
        conditions = cls((), table, {})
        conditions.labels = values.keys()
        conditions.outside = Snapshot(_NO_IOV, conditions, values)
        return conditions

    def reorder(self, lumis: Keys, n_events: npt.NDArray[np.int64]) -> None:
        """The units of the job become these, of the same lumis in another order, (n_units,)
        each."""
        self.table = self.table.of_units(lumis, n_events)

    def files(self) -> list[str]:
        """Files that payloads are loaded from, also those that no event needs."""
        return [p.file for source in self.sources.values() for p in source.payloads if p.file]

    def enter_unit(self, number: int) -> int:
        """The unit with this number is to be processed, perhaps while others still are: what C++
        modules see in its IOV is made ready. Gives the number of that."""
        iov = max(int(self.table.of_unit[number]), 0)
        for label, kept in list(self._kept.items()):
            if (payload := self.payload_number(label, iov)) in kept:
                kept.move_to_end(payload)
        self.core.prepare(iov)
        return iov

    def snapshot_of(self, iov: int) -> Snapshot:
        """Payloads that hold in an IOV of the job; `outside` if there is no event, and so no
        IOV."""
        return self.snapshots[iov] if self.snapshots else self.outside

    def payload_number(self, label: str, iov: int) -> int:
        """Which of the payloads of a condition holds in an IOV."""
        return self.sources[label].payload_of[self.table.intervals[iov][label]]

    def load_into(self, snapshot: Snapshot, label: str) -> Any:
        """The value of a condition that the snapshot does not have yet."""
        if label not in self.sources:
            what = f'unknown condition "{label}"' + suggestion(label, self.labels)
            raise ConditionNotThereError(what)
        value = snapshot[label] = self._payload(label, self._number_for(snapshot, label)).value
        return value

    def loaded(self) -> Iterator[tuple[str, Any]]:
        """(label, value) of every payload in memory."""
        for (label, _), payload in self.prefetched.items():
            yield label, payload.value
        for label, kept in self._kept.items():
            for payload in kept.values():
                yield label, payload.value

    def _number_for(self, snapshot: Snapshot, label: str) -> int:
        if snapshot.iov != _NO_IOV:
            return self.payload_number(label, snapshot.iov)
        numbers = self._numbers_in_plan(label)
        if len(numbers) == 1:
            raise ConditionNotThereError(
                f'the condition "{label}" is excluded from prefetching, and so not there before'
                " the fork; read it where events, lumis or runs are processed"
            )
        raise ConditionNotThereError(
            f'the condition "{label}" has {plural(len(numbers), "different payload")} for the'
            " events of this job, and here no event is being processed; read it where one is, or a"
            " lumi begins"
        )

    def _payload(self, label: str, number: int) -> Payload:
        """The value of a payload that is excluded from prefetching."""
        kept = self._kept.setdefault(label, OrderedDict())
        if number not in kept:
            kept[number] = load_payload(self.sources[label], number)
            if len(kept) > self._n_kept:
                self._forget(label, next(iter(kept)))
        return kept[number]

    def _numbers_in_plan(self, label: str) -> set[int]:
        if not self.table.intervals:  # no event at all: what is always valid
            return set(self.sources[label].payload_of)
        return {self.payload_number(label, iov) for iov in range(len(self.table.intervals))}

    def _forget(self, label: str, number: int) -> None:
        del self._kept[label][number]
        self.core.drop(label, number)
        for snapshot in self.snapshots:
            if label in snapshot and self.payload_number(label, snapshot.iov) == number:
                snapshot.pop(label, None)

    def _make_core(self) -> _core.Conditions:
        iovs = range(len(self.snapshots))
        core = _core.Conditions(len(iovs))
        for label in self.sources:
            core.add_label(label, [self.payload_number(label, iov) for iov in iovs])
        for (label, number), payload in self.prefetched.items():
            self._give(core, label, number, payload)
        core.set_load(
            lambda label, number: self._give(core, label, number, self._payload(label, number))
        )
        return core

    def _give(self, core: _core.Conditions, label: str, number: int, payload: Payload) -> None:
        file = self.sources[label].payloads[number].file or ""
        core.add_payload(label, number, payload.arrays, payload.attributes, file)

    def _snapshot(self, iov: int) -> Snapshot:
        there = {
            label: self.prefetched[label, number].value
            for label in self.sources
            if (label, number := self.payload_number(label, iov)) in self.prefetched
        }
        return Snapshot(iov, self, there)

    def _everywhere_the_same(self) -> dict[str, Any]:
        values = {}
        for label in self.sources:
            numbers = self._numbers_in_plan(label)
            if len(numbers) == 1 and (label, number := min(numbers)) in self.prefetched:
                values[label] = self.prefetched[label, number].value
        return values


class ModuleConditions(Mapping[str, Any]):
    """`self.conditions` of a module: values by label, of the IOV that it is called in. Each module
    has its own: another one may be called in another IOV meanwhile."""

    def __init__(self, conditions: Conditions, declared: Collection[str] | None = None) -> None:
        """`declared`: the labels that it may read; None: all."""
        self._conditions = conditions
        self._declared = declared
        self._current = conditions.outside

    def enter_iov(self, iov: int) -> None:
        """The module is called with a block of this IOV, or for a run or lumi transition in it."""
        self._current = self._conditions.snapshot_of(iov)

    def leave(self) -> None:
        """The module gets a callback that has to do with no IOV."""
        self._current = self._conditions.outside

    def raise_for_write(self, error: Exception) -> None:
        """Raises ReadOnlyConditionError if the module has tried to write to a condition's array."""
        instead = error_of_write(error, self._conditions.loaded())
        if instead:
            raise instead from error

    def __getitem__(self, label: str) -> Any:
        if self._declared is not None and label not in self._declared:
            raise ConditionNotThereError(self._undeclared(label))
        return self._current[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._conditions.labels if self._declared is None else self._declared)

    def __len__(self) -> int:
        return len(self._conditions.labels if self._declared is None else self._declared)

    def _undeclared(self, label: str) -> str:
        if label in self._conditions.labels:
            names = ", ".join(f'"{name}"' for name in [*(self._declared or ()), label])
            return f'the module does not declare the condition "{label}": conditions = ({names},)'
        return f'unknown condition "{label}"' + suggestion(label, self._declared or ())


def conditions_to_json(conditions: Conditions) -> dict[str, Any]:
    """Content of conditions.json: the IOVs of the plan, and the payloads that hold in them."""
    table = conditions.table
    n_units = np.bincount(table.of_unit[table.of_unit >= 0], minlength=len(table.intervals))
    iovs = [
        {
            "first_lumi": lumi,
            "n_units": int(n),
            "payloads": {
                label: conditions.payload_number(label, iov) for label in conditions.labels
            },
        }
        for iov, (lumi, n) in enumerate(zip(table.first_lumis, n_units, strict=True))
    ]
    described = [_condition(source, conditions) for source in conditions.sources.values()]
    return {"iovs": iovs, "conditions": described}


def _condition(source: ConditionSource, conditions: Conditions) -> dict[str, Any]:
    payloads = [_payload(source, n, conditions) for n in range(len(source.payloads))]
    return {"label": source.label, "type": source.config.type, "payloads": payloads}


def _payload(source: ConditionSource, number: int, conditions: Conditions) -> dict[str, Any]:
    origin = source.payloads[number]
    loaded = conditions.prefetched.get((source.label, number))
    described: dict[str, Any] = {
        "file": origin.file,
        "iov": str(origin.iov),
        "is_prefetched": loaded is not None,
    }
    if loaded:
        described |= {
            "n_bytes": loaded.n_bytes,
            "load_s": round(loaded.load_s, 6),
            "arrays": describe_arrays(loaded.arrays),
        }
    return described


def summary(conditions: Conditions) -> str:
    """`2 conditions, 3 IOVs; 4 payloads prefetched (1.2 MB)`."""
    payloads = conditions.prefetched.values()
    return (
        f"{plural(len(conditions.labels), 'condition')},"
        f" {plural(len(conditions.table.intervals), 'IOV')};"
        f" {plural(len(payloads), 'payload')} prefetched ({size(sum(p.n_bytes for p in payloads))})"
    )
