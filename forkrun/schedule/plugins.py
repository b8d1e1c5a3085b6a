"""Libraries of C++ modules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forkrun import _core
from forkrun.errors import JobError
from forkrun.fork.steps import step
from forkrun.rundir.shipped_code import library_of


def load_plugins(plugins: Sequence[str]) -> list[str]:
    """Loads them. Gives what is wrong."""
    problems = []
    for plugin in plugins:
        try:
            with step(f'plugin "{plugin}" was loaded'):
                _core.load_plugin(library_of(plugin_path(plugin)))
        except JobError as error:
            problems.append(f"job.plugins: {error}")
    return problems


def plugin_path(plugin: str) -> str:
    """Path of a library; a bare name is that of one that comes with forkrun, if there is one."""
    shipped = Path(__file__).parents[1] / "lib" / f"lib{plugin}.so"
    return str(shipped) if "/" not in plugin and shipped.exists() else plugin
