"""The sections [[outputs]] and [merge] of a configuration."""

from __future__ import annotations

from typing import Annotated, Literal

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
