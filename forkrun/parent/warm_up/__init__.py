"""The warm-up job, which the parent runs before it forks."""

from forkrun.parent.warm_up.job import run_warm_up_job

__all__ = ["run_warm_up_job"]
