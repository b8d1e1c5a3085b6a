"""Joins the temporary outputs of a run in plan order; proves that nothing is missing or twice."""

from forkrun.merge.files import merge_files

__all__ = ["merge_files"]
