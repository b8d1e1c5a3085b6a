"""Libraries of C++ modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forkrun import _core
from forkrun.errors import JobError
from forkrun.fork.hazards import step
from forkrun.modules.program.outside import libraries_of
from forkrun.rundir.fingerprint import value_digest
from forkrun.rundir.shipped_code import library_of


def load_plugins(plugins: Sequence[str]) -> list[str]:
    """Loads the plugins. Returns problems."""
    problems = []
    for plugin in plugins:
        try:
            with step(f'plugin "{plugin}" was loaded'):
                _core.load_plugin(library_of(plugin_path(plugin)))
        except JobError as error:
            problems.append(f"job.plugins: {error}")
    return problems


def kind_of_cpp(name: str, params: Mapping[str, Any], plugins: Sequence[str]) -> str:
    """Kind of a class: "producer", "filter" or "analyzer"; "unknown" if it cannot be constructed on
    its own, which is reported when the job is checked."""
    if load_plugins(plugins):
        return "unknown"
    builder = _core.ScheduleBuilder([])
    try:
        builder.add_cpp_module(name, name, params)
    except TypeError:
        return "unknown"
    return builder.products_by_module()[name][0]


def plugin_libraries(plugins: Sequence[str], start_s: float) -> tuple[str, list[str]]:
    """Digest of the libraries of C++ modules, except those of forkrun, and reasons why results may
    depend on more. `start_s`: of the job."""
    digests, reasons = [], []
    for path in map(Path, map(plugin_path, plugins)):
        if not path.is_file() or path.resolve().is_relative_to(Path(_core.__file__).parent):
            continue
        found, why = libraries_of(path)
        digests += found
        reasons += why
        if path.stat().st_mtime > start_s:
            reasons.append(f"{path.name} was changed while the job was prepared")
    return value_digest(digests), reasons


def plugin_path(plugin: str) -> str:
    """Path of a library; a bare name means one shipped with forkrun, if it exists."""
    shipped = Path(__file__).parents[1] / "lib" / f"lib{plugin}.so"
    return str(shipped) if "/" not in plugin and shipped.exists() else plugin
