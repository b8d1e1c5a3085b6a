"""The section [source] of a configuration."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from forkrun.base.destinations import TreeNames
from forkrun.config.branches import BranchesRule
from forkrun.config.choices import Duplicates, EventOrder
from forkrun.config.friends import FriendConfig
from forkrun.config.runs import Runs
from forkrun.config.section import Count, Positive, Section, Texts, one_or_many

CollectionPattern = Annotated[str, Field(pattern=r"^[^{}]*\{collection\}[^{}]+\{field\}[^{}]*$")]


class IdBranches(NamedTuple):
    """Names of the tree and of its branches of event ids."""

    tree: str
    run_branch: str
    lumi_branch: str
    event_branch: str


class SourceConfig(Section):
    """[source]: which events to read."""

    files: Texts = ()
    """Paths, globs and URLs (root://…), in input order; URLs of one file are a list in the list, or
    have | between them: the next is read where one fails."""
    list: str | None = None
    """A file with one path, glob or URL per line; # starts a comment."""
    prefixes: Texts = ()
    """Beginnings of URLs, the best first: files are names below each of them, /store/…/f.root."""
    tree: str = "Events"
    """Its key; "Events;2": an older cycle than the newest; a pattern, "DF_*/O2track": all such
    trees of a file, one after the other."""
    tree_in_outputs: str = ""
    """Name of the tree in outputs; "": as in the input; of a pattern what is behind its last slash,
    or "Events" if that is one, too."""
    run_branch: str = "run"
    lumi_branch: str = "luminosityBlock"
    """"" (with run_branch = "" and event_branch = ""): each file is one lumi of run 1."""
    event_branch: str = "event"
    events_per_lumi: Positive | None = None
    """Events of a lumi, by their numbers, in files of LCIO, which have no lumis; not given: each
    run is one."""
    friends: tuple[FriendConfig, ...] = ()
    """Trees with an entry for each of this tree's, whose branches are columns, too:
    [{ tree = "corrections", files = ["corrections.root"], prefix = "" }]."""
    trees_with_events: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    """Names and patterns of trees in the same files and folder, with an entry for each event: their
    branches are columns TREE.BRANCH, and outputs have them as trees of their own."""
    branches: BranchesRule = "same"
    """Those that only some files have: an error if they are used, left out ("common"), or filled
    where they lack: { fill = { "HLT_*" = false } }."""
    collections: Annotated[tuple[CollectionPattern, ...], BeforeValidator(one_or_many)] = (
        "{collection}.{field}",
        "{collection}_{field}",
    )
    """How columns of objects are named, the first that fits."""
    fields: dict[str, str] = {}
    """Names that modules see instead of those of the input's fields: {"PT" = "pt"}."""
    duplicates: Duplicates = Duplicates.WARN
    """Events whose ids come again: a warning, an error, kept without a word, or left out ("drop":
    the first in input order stays). But with "keep", the same file twice is an error."""
    lumi_mask: str | None = None
    """Golden JSON: {"run": [[first lumi, last lumi], …], …}."""
    runs: Runs | None = None
    """Only these runs: "362001-362100,362200", both ends of a range included; beside a lumi mask,
    what both accept."""
    max_events: Count | None = None
    """Largest number of events, counted after runs, the lumi mask and skip_events."""
    skip_events: Count = 0
    order: EventOrder = EventOrder.AUTO
    """Order of events in blocks and outputs: "input": as in the input; "lumi": each lumi in one
    piece, where its first event is; "sorted": by run and lumi; "auto": "input", unless something
    needs whole lumis."""
    datasets: Texts = ()
    """Names of the [[datasets]] to read; none: all."""
    only: Texts = ()
    """These events alone ("RUN:LUMI:EVENT"), instead of runs, mask, skip_events and max_events."""

    @property
    def ids(self) -> IdBranches:
        """The tree and its branches of event ids."""
        lumi = f"event/{self.events_per_lumi}" if self.events_per_lumi else self.lumi_branch
        return IdBranches(self.tree, self.run_branch, lumi, self.event_branch)

    @property
    def tree_names(self) -> TreeNames:
        of_files = tuple(friend.tree for friend in self.friends if not friend.files)
        return TreeNames(self.tree, self.tree_in_outputs, of_files)
