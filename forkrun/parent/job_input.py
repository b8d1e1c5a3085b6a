"""Content of a job's input, and the events of it that count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.lumis import distinct
from forkrun.base.quantities import plural
from forkrun.config.choices import Duplicates
from forkrun.config.model import JobConfig
from forkrun.config.source import parse_runs
from forkrun.errors import InputError
from forkrun.index.duplicates import Duplicates as Found
from forkrun.index.duplicates import find_in_datasets
from forkrun.index.find import EventId, only_events
from forkrun.index.model import FileIndex, LumiRanges
from forkrun.plan.make import make_plan
from forkrun.plan.model import Plan
from forkrun.plan.partners import Joined, check_partners, drop_without_partner
from forkrun.plan.select import EventCounts, LumiMask, read_lumi_mask, within


class JobInput(Struct, frozen=True):
    """Content of a job's input files, and the lumi mask (None: all lumis count). `counted`: ranges
    without events that lack a partner in a friend; `ranges`: also without `n_dropped` repeated
    events; `warnings`: about probable mistakes."""

    index: Sequence[FileIndex]
    held: LumiRanges
    counted: LumiRanges
    ranges: LumiRanges
    mask: LumiMask | None
    warnings: tuple[str, ...] = ()
    counts: EventCounts | None = None
    """Counts for the plan; None if only certain events are read, weighted as among all."""
    n_dropped: int = 0
    n_without_partner: int = 0
    has_ids: bool = True

    @classmethod
    def of(cls, config: JobConfig, index: Sequence[FileIndex]) -> JobInput:
        """The job's input, with its lumi mask. Raises ConfigError, and InputError for repeated
        files or events where these are errors."""
        ranges, mask = LumiRanges.of(index), mask_of(config, index)
        warnings = (
            *_absent(config, index),
            *_nothing_left(config, ranges, mask),
            *_mask_of_no_data(config, index, ranges, mask),
        )
        held, joined = ranges, _joined_friends(config, index)
        drops = any(friend.missing == "drop" for friend in joined)
        ranges, n_without = drop_without_partner(joined, within(mask, ranges) if drops else ranges)
        has_ids = bool(config.source.event_branch)
        given = cls(
            index,
            held,
            ranges,
            ranges,
            mask,
            warnings,
            n_without_partner=n_without,
            has_ids=has_ids,
        )
        rule = config.source.duplicates
        if rule is Duplicates.KEEP:
            return given
        counted = within(mask, ranges)
        found = find_in_datasets(index, counted, config.source.ids, _alike(config, index))
        if found.example is None:
            return given
        what = _text_of(found, config, index)
        if rule is Duplicates.ERROR:
            raise InputError(f"source.duplicates: {what}")
        if rule is Duplicates.DROP:
            text = f"source.duplicates: {what}; repeated ones are left out"
            left = counted.without(found.parts)
            return replace(given, ranges=left, warnings=(*warnings, text), n_dropped=found.n_events)
        text = (
            f'{what}; all are processed: source.duplicates = "drop" takes each once, "keep"'
            " means that they are meant"
        )
        return replace(given, warnings=(*warnings, text))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on empty files, trees that accompany the events, and events left out."""
        empty = [file.name for file in self.index if file.path and not file.n_entries]
        said = {"no events in": empty, "trees that go with the events:": self._trees}
        notes = [f"{what} {_first_of(names)}" for what, names in said.items() if names]
        if not self.has_ids:
            notes.append(
                "events have no ids: each is known by its file and entry, so copies are not noticed"
            )
        if n := self.n_without_partner:
            notes.append(f"{plural(n, 'event')} without an entry in a friend left out")
        return tuple(notes)

    @property
    def _trees(self) -> list[str]:
        """Paths of the trees that accompany the events."""
        return [f.in_outputs for file in self.index[:1] for f in file.friends if f.own is not None]


def _alike(config: JobConfig, index: Sequence[FileIndex]) -> list[int]:
    """(n_files,) group in which events may be repeated: one per dataset, one for all data."""
    numbers = [-1 if d.is_data else number for number, d in enumerate(config.datasets)]
    return [numbers[file.dataset] for file in index] if numbers else []


def _text_of(found: Found, config: JobConfig, index: Sequence[FileIndex]) -> str:
    """Describes the repeated events, and their datasets."""
    assert found.example is not None
    text = found.text()
    of = {file.name: file.dataset for file in index}
    first, again = (of[place.path] for place in (found.example.first, found.example.again))
    if first != again:
        names = (config.datasets[number].name for number in (first, again))
        text += ", of the datasets {} and {}".format(*map('"{}"'.format, names))
    return text


def _first_of(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def _absent(config: JobConfig, index: Sequence[FileIndex]) -> tuple[str, ...]:
    """Warning about files without the tree: they may have another one."""
    absent = [file.absent for file in index if file.absent]
    more = (
        f" The same holds for {plural(len(absent) - 1, 'other file')}." if len(absent) > 1 else ""
    )
    what = "; other files have it, and this one adds no events."
    return (f"{absent[0]}{what}{more}",) if absent else ()


def _mask_of_no_data(
    config: JobConfig, index: Sequence[FileIndex], ranges: LumiRanges, mask: LumiMask | None
) -> Iterator[str]:
    """Warnings if no dataset is data, or if supposed simulation has runs of the mask: all
    simulation is run 1, except in special samples."""
    if mask is None or mask.files is None:
        return
    which = " and ".join(f"source.{key}" for key, _ in _given_masks(config))
    remedy = "for data write is_data = true"
    if not any(dataset.is_data for dataset in config.datasets):
        yield f"{which}: holds for data alone, and no dataset is data: {remedy}"
        return
    of_file = np.array([file.dataset for file in index], dtype=np.int64)
    for number, dataset in enumerate(config.datasets):
        runs = distinct(ranges.run[of_file[ranges.file] == number])
        known = runs[(runs > 1) & mask.has_runs(runs)].tolist()
        if known and not dataset.is_data:
            yield (
                f'{which}: does not hold for "{dataset.name}", which counts as simulation; but'
                f" run {known[0]}, which it has, is in there: {remedy}"
            )


def _given_masks(config: JobConfig) -> list[tuple[str, str]]:
    given = {"lumi_mask": config.source.lumi_mask, "runs": config.source.runs}
    return [(key, value) for key, value in given.items() if value]


def _nothing_left(config: JobConfig, ranges: LumiRanges, mask: LumiMask | None) -> tuple[str, ...]:
    """Warning if the lumi mask accepts none of the events that it applies to."""
    if mask is None:
        return ()
    held = ranges if mask.files is None else ranges.where(np.isin(ranges.file, mask.files))
    if not len(held) or len(within(mask, held)):
        return ()
    runs = distinct(held.run)
    which = f"run {runs[0]}" if len(runs) == 1 else f"runs from {runs[0]} to {runs[-1]}"
    said = [f"source.{key}: {value}" for key, value in _given_masks(config)]
    accept = "accepts" if len(said) == 1 else "together accept"
    what = f"{' and '.join(said)} {accept} no event of the input"
    return (f"{what}, which is of {which}; it may be meant for other files",)


def plan_input(config: JobConfig, index: Sequence[FileIndex]) -> tuple[JobInput, Plan]:
    """A job's input, and the plan of the events accepted by the mask, or of those the job is
    restricted to."""
    given = JobInput.of(config, index)
    plan = _plan_of(config, given)
    if config.source.only:
        return given, plan
    counts = EventCounts.of(len(index), given.counted, given.ranges, plan.units)
    notes = (*plan.notes, *_notes_on_weights(config, index, counts))
    return replace(given, counts=counts), replace(plan, notes=notes)


def _plan_of(config: JobConfig, given: JobInput) -> Plan:
    only = [EventId.parse(text) for text in config.source.only]
    index, mask = given.index, given.mask
    ranges = None if only else given.ranges
    if only:
        source = config.source.replaced({"skip_events": 0, "max_events": None})
        config = config.replaced({"source": source})
        once = source.duplicates is Duplicates.DROP
        index, mask = only_events(index, source.ids, only, once), None
    plan = make_plan(config, index, mask, ranges)
    filled = tuple(check_partners(_joined_friends(config, index), plan.units))
    if only:
        return replace(plan, notes=filled)
    left_out = {"n_dropped": given.n_dropped, "n_without_partner": given.n_without_partner}
    return replace(plan, warnings=given.warnings, notes=(*given.notes, *filled), **left_out)


def _joined_friends(config: JobConfig, index: Sequence[FileIndex]) -> list[Joined]:
    source = config.source
    tables = [(file.path, file.tree or source.tree) for file in index]
    return [
        Joined(
            f"source.friends[{n}]", friend.tree or source.tree, list(friend.keys), friend.rule,
            [file.friends[n].partners for file in index], tables, source.event_branch,
            friend.is_by_file,
        )
        for n, friend in enumerate(source.friends)
        if friend.keys
    ]  # fmt: skip


def mask_of(config: JobConfig, index: Sequence[FileIndex]) -> LumiMask | None:
    """The job's lumi mask with its runs; applied only to data if there are datasets."""
    source = config.source
    if not source.lumi_mask and not source.runs:
        return None
    mask = read_lumi_mask(source.lumi_mask) if source.lumi_mask else LumiMask(None)
    mask = replace(mask, runs=parse_runs(source.runs) if source.runs else None)
    if not config.datasets:
        return mask
    data = [n for n, file in enumerate(index) if config.datasets[file.dataset].is_data]
    return replace(mask, files=tuple(data))


def _notes_on_weights(
    config: JobConfig, index: Sequence[FileIndex], counts: EventCounts
) -> Iterator[str]:
    """Notes on simulation whose sums of weights cover only a part of its events."""
    of_file = np.array([file.dataset for file in index], dtype=np.int64)
    cuts = [f"source.{k}" for k in ("skip_events", "max_events") if getattr(config.source, k)]
    for number, dataset in enumerate(config.datasets):
        if dataset.is_data or not (config.job.luminosity or dataset.sum_of_weights):
            continue
        own = of_file == number
        columns = (counts.counted, counts.left, counts.read)
        counted, left, read = (int(column[own].sum()) for column in columns)
        if dataset.sum_of_weights and any(
            index[n].unreadable for n in np.flatnonzero(own).tolist()
        ):
            what = "files that cannot be read are left out, and its sum_of_weights counts their"
            yield f'"{dataset.name}": {what} events: yields are too low'
        if 0 < read < left:
            what = f"{' and '.join(cuts)}: {read:,} of {plural(left, 'event')} read"
            yield f'{what} of "{dataset.name}", and its sum of weights is of these'
        if left < counted:
            what = f'"{dataset.name}": repeated {counted - left:,} of {plural(counted, "event")}'
            taken = "is taken as" if dataset.sum_of_weights else "is"
            yield f"{what}; its sum of weights {taken} that of each once"
