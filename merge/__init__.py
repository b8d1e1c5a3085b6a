"""Joins the temporary outputs of a run in plan order; proves that nothing is missing or twice."""

from typing import TYPE_CHECKING

from forkrun.base.importing import names_on_demand

if TYPE_CHECKING:
    from forkrun.merge.files import merge_files

__all__ = ["merge_files"]
__getattr__ = names_on_demand(__name__, {"forkrun.merge.files": __all__})
