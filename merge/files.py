"""Joins any ROOT files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from forkrun import _core
from forkrun.base.durable import written_beside
from forkrun.errors import ConfigError, InputError, OutputError


def merge_files(
    inputs: Sequence[str | Path],
    output: str | Path,
    trees: Sequence[str] | None = None,
    compression: str | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Joins `inputs` in the given order into `output`: trees (all when None) by copying baskets, or
    recompressed when `compression` is given; histograms summed; other objects once. Gives entries
    by tree. `progress` gets the number of inputs done."""
    final = Path(output)
    _check(inputs, final, force)
    with written_beside(final) as beside:
        entries = _core.merge_trees(
            [str(file) for file in inputs], str(beside), trees, compression, progress
        )
        for tree in trees or ():
            if tree not in entries:
                raise InputError(_no_tree(tree, entries))
    return entries


def _no_tree(tree: str, entries: Iterable[str]) -> str:
    from forkrun.base.nearest import suggestion  # the package is slow to load, errors are rare

    return f'no input has a tree "{tree}"' + suggestion(tree, entries)


def _check(inputs: Sequence[str | Path], output: Path, force: bool) -> None:
    if not inputs:
        raise ConfigError("merge: name at least one input file")
    if any(Path(file).resolve() == output.resolve() for file in inputs):
        raise ConfigError(f"merge: {output} is an input as well")
    if output.exists() and not force:
        raise OutputError(f"{output}: this file exists; replace it with --force")
