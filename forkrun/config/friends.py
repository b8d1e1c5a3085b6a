"""Trees that are read beside the source's tree."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from forkrun.config.section import Section, Texts

Prefix = Annotated[str, Field(pattern=r"^([A-Za-z_]\w*)?$")]


class FriendConfig(Section):
    """An entry of source.friends: a tree that has an entry for each of the source's tree, in the
    same order. Its branches are columns, too."""

    tree: str = ""
    """"": the name of source.tree."""
    files: Texts = ()
    """Paths, globs and URLs, in the order of the input; none: the files of the input themselves."""
    prefix: Prefix = ""
    """Before the names of its columns."""
