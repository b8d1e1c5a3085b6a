"""The sections [[outputs]] and [merge] of a configuration. Labels of outputs, and names of
datasets, become names of files: no two of them may be the same one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from forkrun.base.quantities import plural
from forkrun.config.checks import Before, Rule
from forkrun.config.choices import OutputMode
from forkrun.config.section import Flag, Label, Section, Texts

Compression = Annotated[
    Annotated[str, Rule(pattern=r"^(none|(zstd|lz4|zlib|lzma):[1-9])$")] | None,
    Before(lambda given: None if given == "auto" else given),
]


class OutputConfig(Section):
    """[[outputs]]: selected events, in output/LABEL.root."""

    label: Label
    """The file is `RUNDIR/output/LABEL.root`; at most 223 bytes, not `histograms`. Labels may not
    differ in case alone."""
    mode: OutputMode = OutputMode.FULL
    """`"full"`: whole events; `"friend"`: ids of events and new columns alone, a friend of the
    input (docs/outputs.md#what-to-choose)."""
    paths: Texts = ()
    """Events that one of these paths accepts; none: every event."""
    per_lumi: Flag = False
    """A file for each lumi in `RUNDIR/output/LABEL`, with a list of them."""
    datasets: Literal["apart", "together"] | None = None
    """For a job with `[[datasets]]`: a file for each, `output/LABEL/DATASET.root`
    (docs/outputs.md#outputs-of-several-datasets), or one for all, with a column `dataset`. Not
    given: apart if there are several."""
    keep: Texts = ("*",)
    """Patterns of branches and new columns that are written, with their counters."""
    drop: Texts = ()
    """Patterns of branches and new columns that are left out."""
    format: str = ""
    """`"ttree"`, `"rntuple"` (docs/formats.md#outputs), `"parquet"` (`pip install
    "forkrun[parquet]"`), or one that an installed package adds; `""`: as the input."""
    flat_names: Flag = False
    """RNTuples have the names `Jet_pt` and `nJet`, of `Jet.pt` and its count, as fields too: for
    programs that know these alone. forkrun finds either."""
    parquet: Flag = False
    """Older form: also `RUNDIR/output/LABEL.parquet` with the same rows."""
    decisions: Flag = False
    """Columns `forkrun_paths_NAME`, one for each path of the job: whether it accepts the event."""
    variations: Literal["all"] | Texts = ()
    """Names of systematic variations, or `"all"`: a further output `LABEL_VARIATION` for each that
    differs (docs/systematics.md#outputs-of-variations)."""
    variation: str = ""
    """Variation whose events and columns this output has; `""`: the nominal case."""
    compression: Compression = None
    """`"auto"`: whole baskets stay as they are, others are compressed by Zstandard
    (docs/outputs.md#what-to-choose); `"zstd:N"`, `"lz4:N"`, `"zlib:N"`, `"lzma:N"` with N from 1 to
    9: as ROOT does, byte for byte; `"none"`."""


class MergeConfig(Section):
    """[merge]"""

    enabled: Flag = True
    """`false`: leave the merge to `forkrun merge RUNDIR`."""
    keep_temporary: Flag = False
    """Keep `RUNDIR/units` after a verified merge."""
    when_stopped: Flag = False
    """Also merge a job that was stopped before its end."""
    carry: Flag | None = None
    """Carry other trees and objects of the input (`Runs`, `MetaData`, …) to each output, merged
    (docs/merging.md#rows-of-other-trees). Not given: to outputs of one dataset each."""
    verify: Flag = False
    """Also unzip and check baskets that are kept whole."""
    keep_first: Flag = False
    """Keep carried objects of the first file where they differ and cannot be merged; else they are
    an error."""
    histograms_json: Flag = False
    """Also write `output/histograms.json`, by the schema of UHI (docs/histograms.md#in-json)."""


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
