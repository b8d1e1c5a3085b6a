"""Replay files: modules with times and dependencies, in the form of the public toy framework."""

from forkrun.studies.replay.model import (
    Concurrency,
    Kind,
    Product,
    ReplayJob,
    ReplayModule,
    ReplayOptions,
    ReplayPath,
    ReplaySource,
    Work,
)
from forkrun.studies.replay.read import read_replay
from forkrun.studies.replay.settings import ReplaySettings

__all__ = [
    "Concurrency",
    "Kind",
    "Product",
    "ReplayJob",
    "ReplayModule",
    "ReplayOptions",
    "ReplayPath",
    "ReplaySettings",
    "ReplaySource",
    "Work",
    "read_replay",
]
