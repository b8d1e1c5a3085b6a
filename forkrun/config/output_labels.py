"""Labels of outputs, and names of datasets, become names of files: no two of them may be the same
one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forkrun.base.quantities import plural

HISTOGRAMS = "histograms"
"""The label that no output may have: its file is that of the booked histograms."""

_LONGEST_NAME_BYTES = 255  # of file systems in use: ext4, XFS, Lustre, GPFS, APFS, NFS to them
_SUFFIX_BYTES = 32
"""Room for suffixes of a label (".root", ".root.part" while it is written)."""
LONGEST_LABEL_BYTES = _LONGEST_NAME_BYTES - _SUFFIX_BYTES


def output_label_problems(labels: Sequence[object]) -> Iterator[tuple[int, str]]:
    """Number of an output, and what is wrong with its label. Labels that are the same to the
    letter, or are no texts, are left to others."""
    for number, label in enumerate(labels):
        if isinstance(label, str) and label.casefold() == HISTOGRAMS:
            yield number, _reserved(label)
    yield from file_name_problems(labels, "output", "label")


def file_name_problems(names: Sequence[object], of: str, word: str) -> Iterator[tuple[int, str]]:
    """Number of a name, and what is wrong with it as that of a file. `of`: what they are names of;
    `word`: what they are called there."""
    first: dict[str, str] = {}
    for number, name in enumerate(names):
        if not isinstance(name, str):
            continue
        n_bytes = len(name.encode(errors="replace"))
        if n_bytes > LONGEST_LABEL_BYTES:
            yield number, _too_long(word, name, n_bytes)
        other = first.setdefault(name.casefold(), name)
        if other != name:
            yield (
                number,
                f'the {of}s "{other}" and "{name}" share a file where upper and lower case are'
                " the same (macOS, Windows, some network file systems); rename one of them",
            )


def _too_long(word: str, label: str, n_bytes: int) -> str:
    return (
        f'the {word} "{label[:20]}…" has {plural(n_bytes, "byte")}; it becomes a name of files, and'
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
