"""The section [source] of a configuration, with ranges of runs, "362001-362100,362200", friend
trees, and rules for branches that only some files of the input have."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NamedTuple

from forkrun.base.destinations import TreeNames
from forkrun.config.checks import After, Before, Rule
from forkrun.config.choices import Duplicates, EventOrder, Partner
from forkrun.config.section import (
    Count,
    Flag,
    Positive,
    Section,
    ShareOrSize,
    Texts,
    one_or_many,
    whole,
)

_NOT_FINITE = ("nan", "inf", "-inf")


def _number(value: Any) -> Any:
    return float(value) if value in _NOT_FINITE else value


FillValue = Annotated[bool | Annotated[int, Rule(is_strict=True)] | float, Before(_number)]


class FilledBranches(Section):
    """[source.branches]"""

    numbers_as_texts = ("fill",)

    fill: Annotated[dict[str, FillValue], Rule(min_length=1)]
    """Values by pattern of branch names: `{ "HLT_*" = false }`."""


BranchesRule = Literal["same", "common"] | FilledBranches


Prefix = Annotated[str, Rule(pattern=r"^([A-Za-z_]\w*)?$")]


class FriendConfig(Section):
    """An entry of source.friends: a tree whose branches are columns, too. It has an entry for each
    of the source's tree, in the same order, or entries are found by keys."""

    tree: str = ""
    """Name of the tree; `""`: that of `source.tree`."""
    files: Texts = ()
    """Paths, globs and URLs, in the order of the input; none: the files of the input themselves."""
    prefix: Prefix = ""
    """Text before the names of its columns."""
    by: Texts | dict[str, str] = ()
    """Integer branches, any number, by which entries are found
    (docs/configuration.md#friends-by-run-and-event): `["run", "event"]`, or `{ run = "RunNumber" }`
    for other names in the friend. Not given: entry by entry."""
    missing: Literal["error", "drop"] | FilledBranches = "error"
    """An event without a partner: `"error"`; `"drop"`: left out of the job; `{ fill = { "PATTERN" =
    value } }`: filled, lists and texts empty."""
    duplicates: Partner = Partner.ERROR
    """An event with several partners: `"error"`, or the `"first"`."""
    file_by_file: Flag = False
    """Partners of the n-th input file are in the n-th file of the friend. Datasets of simulation,
    which all have run 1, need it, or a friend within the files of the input."""

    @property
    def keys(self) -> dict[str, str]:
        """Names of the keys in the friend, by those in the input; none: entries are in order."""
        return self.by if isinstance(self.by, dict) else {name: name for name in self.by}

    @property
    def rule(self) -> str:
        """For events without a partner: "error", "drop" or "fill"."""
        return self.missing if isinstance(self.missing, str) else "fill"

    @property
    def is_by_file(self) -> bool:
        """Whether partners of a file's entries are in one file of the friend."""
        return self.file_by_file or not self.files

    @whole
    def _needs_keys(self) -> None:
        given = {"missing": self.missing, "duplicates": self.duplicates}
        wrong = [key for key, value in given.items() if value != "error"]
        wrong += ["file_by_file"] * self.file_by_file
        if wrong and not self.keys:
            raise ValueError(
                f'{", ".join(wrong)} needs keys by which entries are found: by = ["run", "event"]'
            )


CollectionPattern = Annotated[str, Rule(pattern=r"^[^{}]*\{collection\}[^{}]+\{field\}[^{}]*$")]


_MOST_RUN = (1 << 32) - 1
_RANGE_OF_RUNS = re.compile(r"\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?", re.ASCII)
_FORM_OF_RUNS = 'write runs, and ranges with both ends included: "362001-362100,362200"'


def parse_runs(text: str) -> tuple[tuple[int, int], ...]:
    """First and last run of each range, both included, rising and apart from each other. Raises
    ValueError, which names the wrong part."""
    ranges = sorted(_range(part) for part in text.split(","))
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first <= joined[-1][1] + 1:
            first, last = joined[-1][0], max(joined.pop()[1], last)
        joined.append((first, last))
    return tuple(joined)


def _range(part: str) -> tuple[int, int]:
    match = _RANGE_OF_RUNS.fullmatch(part)
    if match is None:
        what = f'"{part.strip()}" is not a run' if part.strip() else "a part is empty"
        raise ValueError(f"{what}; {_FORM_OF_RUNS}")
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise ValueError(f'"{part.strip()}" ends before it begins; {_FORM_OF_RUNS}')
    if last > _MOST_RUN:
        raise ValueError(f'"{part.strip()}": runs are numbers up to {_MOST_RUN:,}')
    return first, last


def _checked_runs(text: str) -> str:
    parse_runs(text)
    return text


Runs = Annotated[str, After(_checked_runs)]


class IdBranches(NamedTuple):
    """Names of the tree and of its branches of event ids."""

    tree: str
    run_branch: str
    lumi_branch: str
    event_branch: str


class SourceConfig(Section):
    """[source]: which events to read."""

    files: Texts = ()
    """Paths, globs and URLs (`root://…`, docs/remote.md), in input order; files of a glob are
    sorted by name. Replicas of one file are a list in the list, or have `|` between them."""
    list: str | None = None
    """A file with one path, glob or URL per line, relative to its folder; `#` starts a comment."""
    prefixes: Texts = ()
    """Beginnings of URLs, the best first: files are names below each of them
    (docs/remote.md#replicas)."""
    cache: Annotated[str, Rule(pattern=r"^(auto|on|off)$|^[^:]*/[^:]*$")] = "auto"
    """Where bytes of remote files that were read are kept: `"auto"`: in forkrun's cache, unless
    other machines see that disk; `"on"`: there, too; `"off"`; or a folder (with a `/`), which users
    may share (docs/remote.md#the-cache)."""
    cache_limit: ShareOrSize = "5%"
    """Largest size of that cache, or its share of the free space."""
    cache_decoded: bool = False
    """Whether that cache also keeps, uncompressed, what LZMA has compressed: of any file."""
    tree: str = "Events"
    """The tree of events with its folders (`"folder/Events"`): its newest cycle, or `"Events;2"`. A
    pattern takes several trees of a file (docs/configuration.md#several-trees-of-a-file)."""
    tree_in_outputs: str = ""
    """Name of the tree in outputs; `""`: as in the input, for a pattern the part after its last
    slash."""
    run_branch: str = "run"
    """Branch of run numbers; a leaf or member is `"id.run"`. If none of these three is given, those
    of known formats are found (docs/formats.md#event-ids). `""`: all are run 1, each file is one
    lumi, entries are event numbers."""
    lumi_branch: str = "luminosityBlock"
    """Branch of lumi numbers."""
    event_branch: str = "event"
    """Branch of event numbers."""
    events_per_lumi: Positive | None = None
    """For LCIO (docs/formats.md#lcio-events), which has no lumis: events per lumi, by event number;
    not given: each run is one."""
    friends: tuple[FriendConfig, ...] = ()
    """Friend trees, whose branches are columns, too (docs/configuration.md#friend-trees): `[{ tree
    = "corrections", files = ["corrections.root"] }]`."""
    trees_with_events: Annotated[Texts, Before(one_or_many)] = ()
    """Names and patterns of trees with an entry for each event
    (docs/configuration.md#trees-that-go-with-the-events)."""
    branches: BranchesRule = "same"
    """Branches that only some files have: `"same"`: an error if used; `"common"`: left out; `{ fill
    = { "HLT_*" = false } }`: filled (docs/configuration.md#files-that-differ-in-their-branches)."""
    collections: Annotated[tuple[CollectionPattern, ...], Before(one_or_many)] = (
        "{collection}.{field}",
        "{collection}_{field}",
    )
    """Patterns of the names of columns of objects (docs/modules.md#objects); the first that
    fits."""
    fields: dict[str, str] = {}
    """Names of fields as modules see them: `{ PT = "pt" }`."""
    duplicates: Duplicates = Duplicates.WARN
    """Reaction to events with the same ids (docs/configuration.md#events-that-are-there-twice):
    `"warn"`, `"error"`, `"keep"`, or `"drop"` all but the first in input order."""
    lumi_mask: str | None = None
    """Golden JSON, `{"run": [[first lumi, last lumi], …], …}`, both ends included; with datasets
    for data alone."""
    runs: Runs | None = None
    """These runs alone, both ends of a range included: `"362001-362100,362200"` (`--runs`). With a
    lumi mask: runs that both accept."""
    max_events: Count | None = None
    """Largest number of events, counted after runs, mask and `skip_events`; weights follow
    (docs/configuration.md#sums-of-weights-of-a-part)."""
    skip_events: Count = 0
    """Events at the beginning of the input, after runs and mask, that are left out."""
    order: EventOrder = EventOrder.AUTO
    """Order of events (docs/distribution.md#order-of-events): `"input"`; each `"lumi"` in one
    piece, where its first event is; `"sorted"` by run and lumi; `"auto"`: `"input"`, unless
    something needs whole lumis."""
    datasets: Texts = ()
    """Names or patterns of the `[[datasets]]` to read (`--dataset`); none: all."""
    only: Texts = ()
    """These events alone, `"RUN:LUMI:EVENT"`, instead of runs, mask, `skip_events` and `max_events`
    (`--only`)."""

    @property
    def ids(self) -> IdBranches:
        """The tree and its branches of event ids."""
        lumi = f"event/{self.events_per_lumi}" if self.events_per_lumi else self.lumi_branch
        return IdBranches(self.tree, self.run_branch, lumi, self.event_branch)

    @property
    def tree_names(self) -> TreeNames:
        of_files = tuple(friend.tree for friend in self.friends if not friend.files)
        return TreeNames(self.tree, self.tree_in_outputs, of_files)
