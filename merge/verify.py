"""Counts and digests: what was read is what was planned, what is merged is what was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from forkrun._core import EventDigest
from forkrun.errors import VerificationError
from forkrun.formats import Format

if TYPE_CHECKING:
    from forkrun.config import SourceConfig


def total_digest(parts: Iterable[tuple[int, str]]) -> EventDigest:
    """Digest of the union of sets of events, each given by (count, digest)."""
    total = EventDigest()
    for count, digest in parts:
        total = total + EventDigest(count, digest)
    return total


def check_read(read: EventDigest, n_planned: int, planned: str | None) -> None:
    """`planned`: the digest that the index knows, None if it does not."""
    if read.count != n_planned or (planned is not None and read.hex != planned):
        raise VerificationError(
            f"children read {read.count} events (digest {read.hex}), the plan has {n_planned}"
            f" (digest {planned or 'not known'}); an input file may have changed during the job"
        )


def check_merged(
    output: Path,
    files: Sequence[Path],
    n_entries: int,
    written: EventDigest,
    source: SourceConfig,
    tree: str,
    form: Format,
) -> str | None:
    """The digest read back from the files of an output; None if the ids are not in them: then only
    the number of events was checked."""
    if n_entries != written.count:
        raise VerificationError(
            f"{output}: {n_entries} events were merged, but children wrote {written.count}"
        )
    merged = digest_of(files, source, tree, form)
    if merged is not None and merged != written:
        raise VerificationError(
            f"{output}: the digest of the merged events is {merged.hex},"
            f" children wrote {written.hex}"
        )
    return None if merged is None else merged.hex


def digest_of(
    files: Sequence[Path], source: SourceConfig, tree: str, form: Format
) -> EventDigest | None:
    """Digest of the events in all files of an output; None if the ids are not in them."""
    ids = id_branches(str(files[0]), source, tree, form)
    if ids is None:
        return None
    total = EventDigest()
    for file in files:
        total = total + form.digest(str(file), tree, ids)
    return total


def id_branches(
    file: str, source: SourceConfig, tree: str, form: Format
) -> tuple[str, str, str] | None:
    """Branches of run, lumi and event number; None if the file does not have all of them."""
    _, run, lumi, event = source.ids
    if form.has_ids:
        return run, lumi, event
    if not (run and lumi and event):
        return None
    held = branches_of(file, tree, form)
    has_all = all(name in held or name.rpartition(".")[0] in held for name in (run, lumi, event))
    return (run, lumi, event) if has_all else None


def branches_of(file: str, tree: str, form: Format) -> set[str]:
    """Names of the top branches of a tree."""
    return {branch[0] for branch in form.index(file, tree)["branches"]}
