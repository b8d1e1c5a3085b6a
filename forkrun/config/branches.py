"""What becomes of branches that only some files of the input have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from forkrun.config.section import Section


class FilledBranches(Section):
    """[source.branches]"""

    fill: Annotated[dict[str, StrictBool | StrictInt | StrictFloat], Field(min_length=1)]
    """By pattern of names, the value of a branch where a file lacks it: {"HLT_*" = false}."""


BranchesRule = Literal["same", "common"] | FilledBranches
