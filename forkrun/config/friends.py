"""Trees that are read beside the source's tree."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from forkrun.config.branches import FilledBranches
from forkrun.config.choices import Partner
from forkrun.config.section import Flag, Section, Texts

Prefix = Annotated[str, Field(pattern=r"^([A-Za-z_]\w*)?$")]


class FriendConfig(Section):
    """An entry of source.friends: a tree whose branches are columns, too. It has an entry for each
    of the source's tree, in the same order, or entries are found by keys."""

    tree: str = ""
    """"": the name of source.tree."""
    files: Texts = ()
    """Paths, globs and URLs, in the order of the input; none: the files of the input themselves."""
    prefix: Prefix = ""
    """Before the names of its columns."""
    by: Texts | dict[str, str] = ()
    """Branches of integers that name an event together: ["run", "event"]; where the friend has
    other names for them: { run = "RunNumber", event = "EventNumber" }."""
    missing: Literal["error", "drop"] | FilledBranches = "error"
    """Events without an entry in the friend: an error, left out of the job ("drop"), or its columns
    get values: { fill = { "*" = -1 } }."""
    duplicates: Partner = Partner.ERROR
    """Which of several entries with the keys of an event counts: none, which is an error, or the
    first."""
    file_by_file: Flag = False
    """The entries of a file of the input are in the friend's file of the same number."""

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

    @model_validator(mode="after")
    def _needs_keys(self) -> FriendConfig:
        given = {"missing": self.missing, "duplicates": self.duplicates}
        wrong = [key for key, value in given.items() if value != "error"]
        wrong += ["file_by_file"] * self.file_by_file
        if wrong and not self.keys:
            raise ValueError(
                f'{", ".join(wrong)} needs keys by which entries are found: by = ["run", "event"]'
            )
        return self
