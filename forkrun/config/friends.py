"""Friend trees: read together with the source's tree."""

from __future__ import annotations

from typing import Annotated, Literal

from forkrun.config.branches import FilledBranches
from forkrun.config.checks import Rule
from forkrun.config.choices import Partner
from forkrun.config.section import Flag, Section, Texts, whole

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
