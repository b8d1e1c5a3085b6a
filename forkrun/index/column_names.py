"""Messages about names that are not columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.nearest import close_to, suggestion
from forkrun.formats import OTHER, Format
from forkrun.index.model import Branch, FileIndex

_MOST_LISTED = 12
_SHOWN = 3
_NOT_MADE = re.compile(r'(?P<asked>.*\bconsumes) "(?P<name>[^"]+)", which no module makes')


class ColumnNames(Struct, frozen=True):
    """`others`: class and reason for each input branch that is not a column, by name; `reasons`:
    only the reason; `holders`: names of branches that contain columns; `command`: lists all
    columns; "" if no file is known."""

    others: Mapping[str, str] = {}
    command: str = ""
    reasons: Mapping[str, str] = {}
    holders: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, branches: Mapping[str, Branch], form: Format, file: FileIndex | None, tree: str
    ) -> ColumnNames:
        """Makes the names. `branches`: of the input, and columns within them, by name; `file`: one
        that has them; `tree`: the job's."""
        within: dict[str, list[str]] = {}
        for branch in branches.values():
            if branch.top and branch.readable:
                within.setdefault(branch.top, []).append(branch.name)
        kinds = {
            name: branch.type.removeprefix(OTHER)
            for name, branch in branches.items()
            if not branch.readable
        }
        reasons = {
            name: _members(within[name]) if name in within else form.why_no_column(kind)
            for name, kind in kinds.items()
        }
        others = {
            name: f"of type {kind}, which is not a column ({reasons[name]})"
            for name, kind in kinds.items()
        }
        command = ""
        if file is not None:
            of_tree = "" if tree == "Events" else f" --tree {shlex.quote(tree)}"
            command = f"forkrun columns {shlex.quote(file.path)}{of_tree}"
        return cls(others, command, reasons, frozenset(within))

    def without(self, names: Iterable[str], dataset: str) -> ColumnNames:
        """Names for events of a dataset that lacks these columns."""
        why = (
            f'but not in the dataset "{dataset}": ask for it where events.dataset says that it is'
            " there, or say what it is here: source.branches.fill"
        )
        return replace(self, others={**self.others, **dict.fromkeys(names, why)})

    def no_column(self, name: str) -> str:
        """Reason why a name in the input is not a column; "" if the input does not have it."""
        branch = name if name in self.others else name.partition(".")[0]
        if branch not in self.others or (branch != name and branch in self.holders):
            return ""
        is_it = f'"{name}" exists' if branch == name else f'"{name}" may be within "{branch}"'
        return f"{is_it}, {self.others[branch]}"

    def missing(
        self, name: str, known: Iterable[str], who: str = "neither the input nor a module has"
    ) -> str:
        """Message about a name that is not among the `known` columns and collections."""
        return self.no_column(name) or f'{who} "{name}"{self.hint(name, known)}'

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Most likely intended name, and the command that lists all."""
        names = list(dict.fromkeys([*known, *self.others]))
        if not self.command or (len(names) <= _MOST_LISTED and not close_to(name, names)):
            return suggestion(name, names)
        if close := close_to(name, names):
            return f'; did you mean "{close}"? All columns: {self.command}'
        return f"; all columns: {self.command}"

    def explained(self, problem: str) -> str:
        """A problem reported by the core, with the input's object in place of a column."""
        match = _NOT_MADE.match(problem)
        if match is None:
            return problem
        if text := self.no_column(match["name"]):
            return f"{match['asked']} {text.replace(' exists, ', ', which exists and is ', 1)}"
        return f"{problem} (all columns: {self.command})" if self.command else problem


def _members(names: Sequence[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"objects, whose members are the columns {shown}{more}"
