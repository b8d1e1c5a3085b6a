"""Units of work and the plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


class EntryRange(NamedTuple):
    """Entries [first, last) of the file with this number."""

    file: int
    first: int
    last: int


class Unit(NamedTuple):
    """One lumi, or part of one: what yields exactly one temporary file per output."""

    number: int
    child: int
    run: int
    lumi: int
    ranges: tuple[EntryRange, ...]

    @property
    def n_events(self) -> int:
        """Events in all ranges."""
        return sum(r.last - r.first for r in self.ranges)


@dataclass(frozen=True)
class Plan:
    """`units`: in merge order, numbered from 0. `children`: of the job, also those without a unit.
    `digest`: of all event ids in the plan as the index saw them, None if it covers parts of the
    index's ranges only (skip_events, max_events)."""

    distribution: str
    children: int
    n_events: int
    n_lumis: int
    files: tuple[str, ...]
    units: tuple[Unit, ...]
    digest: str | None

    def units_of(self, child: int) -> list[Unit]:
        """What one child does, in this order."""
        return [unit for unit in self.units if unit.child == child]

    def busy_children(self) -> list[int]:
        """Numbers of the children that have a unit."""
        return sorted({unit.child for unit in self.units})

    def events_by_child(self) -> list[int]:
        """(children,) events of each."""
        counts = [0] * max(self.children, 1)
        for unit in self.units:
            counts[unit.child] += unit.n_events
        return counts

    def to_json(self) -> dict[str, Any]:
        """As in plan.json."""
        return {
            "distribution": self.distribution,
            "children": self.children,
            "n_events": self.n_events,
            "n_lumis": self.n_lumis,
            "files": self.files,
            "digest": self.digest,
            "units": [{**unit._asdict(), "n_events": unit.n_events} for unit in self.units],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """Inverse of `to_json`."""
        return cls(
            distribution=data["distribution"],
            children=data["children"],
            n_events=data["n_events"],
            n_lumis=data["n_lumis"],
            files=tuple(data["files"]),
            units=tuple(_unit(unit) for unit in data["units"]),
            digest=data["digest"],
        )


def _unit(data: dict[str, Any]) -> Unit:
    ranges = tuple(EntryRange(*r) for r in data["ranges"])
    return Unit(data["number"], data["child"], data["run"], data["lumi"], ranges)


def joined(ranges: Iterable[EntryRange]) -> tuple[EntryRange, ...]:
    """The same entries in the same order with adjacent ranges made one."""
    out: list[EntryRange] = []
    for r in ranges:
        if out and out[-1].file == r.file and out[-1].last == r.first:
            out[-1] = EntryRange(r.file, out[-1].first, r.last)
        else:
            out.append(r)
    return tuple(out)
