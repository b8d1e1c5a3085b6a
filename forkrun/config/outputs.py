"""The sections [[outputs]] and [merge] of a configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from forkrun.config.choices import OutputMode
from forkrun.config.section import Flag, Label, Section, Texts

Compression = Annotated[
    Annotated[str, Field(pattern=r"^(none|(zstd|lz4|zlib|lzma):[1-9])$")] | None,
    BeforeValidator(lambda given: None if given == "auto" else given),
]


class OutputConfig(Section):
    """[[outputs]]: selected events, in output/LABEL.root."""

    label: Label
    mode: OutputMode = OutputMode.FULL
    """Whole events, or the ids of events and new columns alone: a friend of the input's tree."""
    paths: Texts = ()
    """Write events that one of these paths accepts; none: every event."""
    per_lumi: Flag = False
    """A file for each lumi, in output/LABEL/, with a list of them."""
    datasets: Literal["apart", "together"] | None = None
    """Where the job has [[datasets]]: a file for each, output/LABEL/DATASET.root, or one for all
    with a column `dataset`, a number whose name its object `datasets` says; not given: apart if
    there are several."""
    keep: Texts = ("*",)
    """Patterns of input branches and of produced columns."""
    drop: Texts = ()
    format: str = ""
    """Format of the file: "ttree", "rntuple", "parquet", or one that an installed package adds; the
    first two are for input in either. "": that of the input."""
    parquet: Flag = False
    """Older form: the same rows in output/LABEL.parquet as well; format = "parquet" writes these
    alone."""
    decisions: Flag = False
    """New columns forkrun_paths_NAME, one for each path of the job: which events it accepts."""
    variations: Literal["all"] | Texts = ()
    """Systematic variations with an output of their own, LABEL_VARIATION, of the events that they
    select and with their columns; "all": those in which something is different."""
    variation: str = ""
    """The variation whose events and columns these are; "": the nominal case."""
    compression: Compression = None
    """Compression of all baskets, as ROOT does it at this level; None, from "auto": input baskets
    that are kept whole stay as they are, others are "zstd:5" with forkrun's own search."""


class MergeConfig(Section):
    """[merge]"""

    enabled: Flag = True
    keep_temporary: Flag = False
    """Keep RUNDIR/units after a verified merge."""
    when_stopped: Flag = False
    """Merge what has been committed also when the job was stopped before its end."""
    carry: Flag | None = None
    """Carry other trees and objects of the input (Runs, MetaData, …) to each output, merged; not
    given: to outputs of one dataset each."""
    verify: Flag = False
    """Unzip also baskets that are kept whole, and check what they hold."""
    keep_first: Flag = False
    """Keep the first file's objects where they cannot be merged and differ between files."""
    histograms_json: Flag = False
    """Write histograms to output/histograms.json as well, by the schema of UHI: for hist, without
    ROOT."""
