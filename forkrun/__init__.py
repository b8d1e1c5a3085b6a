"""forkrun: event data processed in forked children that share memory.

    import forkrun
    job = forkrun.Job("sample.root")
    job.filter("nMuon >= 2").hist("Muon_pt", (50, 0, 200))
    result = job.run(children=4)

Modules derive from `forkrun.Producer`, `forkrun.Filter` or `forkrun.Analyzer`. Names are imported
when they are first used: the command line must first keep NumPy's libraries from making threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forkrun.base.importing import names_on_demand

if TYPE_CHECKING:
    from forkrun.analysis.job import Job
    from forkrun.api import LoadedJob, load, merge_files
    from forkrun.batch.submission import Submission
    from forkrun.conditions import BinnedTable, ConditionsProvider, Iov, OnnxModel
    from forkrun.errors import (
        ConfigError,
        ForkrunError,
        ForkSafetyError,
        InputError,
        JobError,
        ModuleError,
        OutputError,
        StoppedError,
        VerificationError,
    )
    from forkrun.modules.base import Analyzer, Filter, Producer
    from forkrun.modules.block import EventBlock
    from forkrun.monitoring.live.screen import RunningJob
    from forkrun.parent.result import Result

__version__ = "0.2.0"

__all__ = [
    "Analyzer",
    "BinnedTable",
    "ConditionsProvider",
    "ConfigError",
    "EventBlock",
    "Filter",
    "ForkSafetyError",
    "ForkrunError",
    "InputError",
    "Iov",
    "Job",
    "JobError",
    "LoadedJob",
    "ModuleError",
    "OnnxModel",
    "OutputError",
    "Producer",
    "Result",
    "RunningJob",
    "StoppedError",
    "Submission",
    "VerificationError",
    "load",
    "merge_files",
]


__getattr__ = names_on_demand(
    __name__,
    {
        "forkrun.analysis.job": ("Job",),
        "forkrun.api": ("LoadedJob", "load", "merge_files"),
        "forkrun.batch.submission": ("Submission",),
        "forkrun.conditions": ("BinnedTable", "ConditionsProvider", "Iov", "OnnxModel"),
        "forkrun.errors": (
            "ConfigError",
            "ForkSafetyError",
            "ForkrunError",
            "InputError",
            "JobError",
            "ModuleError",
            "OutputError",
            "StoppedError",
            "VerificationError",
        ),
        "forkrun.modules.base": ("Analyzer", "Filter", "Producer"),
        "forkrun.modules.block": ("EventBlock",),
        "forkrun.monitoring.live.screen": ("RunningJob",),
        "forkrun.parent.result": ("Result",),
    },
)
