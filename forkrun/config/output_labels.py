"""Labels of outputs become names of files: no two of them may be the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

HISTOGRAMS = "histograms"
"""The label that no output may have: its file is that of the booked histograms."""

_LONGEST_NAME_BYTES = 255  # of file systems in use: ext4, XFS, Lustre, GPFS, APFS, NFS to them
_SUFFIX_BYTES = 32
"""Room for what is put behind a label (".root", ".root.part" while it is written)."""
LONGEST_LABEL_BYTES = _LONGEST_NAME_BYTES - _SUFFIX_BYTES


def output_label_problems(labels: Sequence[object]) -> Iterator[tuple[int, str]]:
    """Number of an output, and what is wrong with its label. Labels that are the same to the
    letter, or are no texts, are left to others."""
    first: dict[str, str] = {}
    for number, label in enumerate(labels):
        if not isinstance(label, str):
            continue
        n_bytes = len(label.encode(errors="replace"))
        if n_bytes > LONGEST_LABEL_BYTES:
            yield number, _too_long(label, n_bytes)
        if label.casefold() == HISTOGRAMS:
            yield number, _reserved(label)
        other = first.setdefault(label.casefold(), label)
        if other != label:
            yield (
                number,
                f'the outputs "{other}" and "{label}" share a file where upper and lower case are'
                " the same (macOS, Windows, some network file systems); rename one of them",
            )


def _too_long(label: str, n_bytes: int) -> str:
    return (
        f'the label "{label[:20]}…" has {n_bytes} bytes; it becomes a name of files, and'
        f" {LONGEST_LABEL_BYTES} bytes at most leave room for their suffixes"
    )


def _reserved(label: str) -> str:
    file = f"output/{HISTOGRAMS}.root"
    if label == HISTOGRAMS:
        return f'the output "{label}" would overwrite the booked histograms, {file}; rename it'
    return (
        f'the output "{label}" shares a file with the booked histograms, {file}, where upper and'
        " lower case are the same (macOS, Windows, some network file systems); rename it"
    )
