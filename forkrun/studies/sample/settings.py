"""Settings of a sample."""

from __future__ import annotations

import re

from msgspec import Struct

from forkrun.errors import ConfigError

COMPRESSION = r"auto|none|(zstd|lz4|zlib|lzma):[1-9]"
FIRST_RUN = 362_001


class SampleSettings(Struct, frozen=True):
    """A sample is a pure function of these settings.

    `n_events`: in all files, divided evenly over `n_files` and over `n_runs` x `lumis_per_run`
    lumis, in order, so a lumi may span two files. `n_branches`: of the Events tree, with counters.
    `drift`: relative growth of the event size from the first event to the last (-0.9: the last has
    a tenth of the objects of the first). `peak`: factor on the size of the first events; it falls
    exponentially within 5 % of the sample. `cluster`: events per cluster."""

    n_events: int = 10_000
    n_runs: int = 2
    lumis_per_run: int = 10
    n_branches: int = 100
    n_files: int = 1
    drift: float = 0.0
    peak: float = 1.0
    cluster: int = 5_000
    compression: str = "auto"
    seed: int = 1

    def __post_init__(self) -> None:
        problems = [
            f"--{name} {value}: must be at least {least}"
            for name, value, least in (
                ("events", self.n_events, 0),
                ("runs", self.n_runs, 1),
                ("lumis", self.lumis_per_run, 1),
                ("files", self.n_files, 1),
                ("cluster", self.cluster, 1),
                ("seed", self.seed, 0),
                ("drift", self.drift, -0.95),
                ("peak", self.peak, 0.1),
            )
            if not value >= least
        ]
        problems += [
            f"--{name} {value}: must be at most {most:,}: {why}"
            for name, value, most, why in (
                ("events", self.n_events, 1 << 62, "entries are counted in 63 bits"),
                ("runs", self.n_runs, 1_000_000, "runs are numbered in 32 bits"),
                ("lumis", self.lumis_per_run, 1_000_000, "lumis are numbered in 32 bits"),
                ("branches", self.n_branches, 100_000, "a cluster of all of them is in memory"),
                ("files", self.n_files, 1_000_000, "each is a file of one folder"),
                ("cluster", self.cluster, 100_000_000, "a cluster is in memory"),
                ("drift", self.drift, 100, "events of a hundred times the size"),
                ("peak", self.peak, 1000, "events of a thousand times the size"),
            )
            if value > most
        ]
        if not re.fullmatch(COMPRESSION, self.compression):
            problems.append(
                f"--compression {self.compression}: write auto, none, or zstd, lz4, zlib or lzma"
                " with a level from 1 to 9, for example zstd:5"
            )
        if problems:
            raise ConfigError(problems)

    @property
    def n_lumis(self) -> int:
        """Number of lumis of all runs."""
        return self.n_runs * self.lumis_per_run
