"""Code of a job's modules: the inspected part, its libraries, and modules that share state which
one of them changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forkrun import _core
from forkrun.modules.program.libraries import libraries_of
from forkrun.parent.preparation import PreparedJob
from forkrun.rundir.fingerprint import value_digest
from forkrun.schedule.plugins import plugin_path

if TYPE_CHECKING:
    from forkrun.modules.program.dependence import Dependence


def plugin_libraries(job: PreparedJob) -> tuple[str, list[str]]:
    """Digest of the libraries of C++ modules, and reasons why results may depend on more."""
    digests, reasons = [], []
    for plugin in job.config.job.plugins:
        path = Path(plugin_path(plugin))
        if not path.is_file() or _is_ours(path):
            continue
        found, why = libraries_of(path)
        digests += found
        reasons += why
        if path.stat().st_mtime > job.start_s:
            reasons.append(f"{path.name} was changed while the job was prepared")
    return value_digest(digests), reasons


def together(code: Mapping[str, Dependence]) -> dict[str, set[str]]:
    """Modules that share an object which one of them may change, by label: the results of one may
    depend on whether the other runs."""
    reach: dict[Any, list[str]] = {}
    for label, each in code.items():
        for shared in {*each.shared, *each.stores}:
            reach.setdefault(shared, []).append(label)
    stored = frozenset[Any]().union(*(each.stores for each in code.values()))
    found: dict[str, set[str]] = {}
    for shared, labels in reach.items():
        is_variable = isinstance(shared, tuple)
        is_changed = shared in stored if is_variable else any(code[n].changes for n in labels)
        if len(labels) > 1 and is_changed:
            for label in labels:
                found.setdefault(label, set()).update(labels)
    return found


def values_of(module: Any) -> list[Any]:
    """Code of a user's module: its functions, or its class."""
    function = getattr(module, "function", None)
    if type(module).__module__ != "forkrun.modules.entries" or function is None:
        return [type(module)]
    others = [getattr(module, name, None) for name in ("params", "weight")]
    return [_text_of(each) for each in (function, *others)]


def _text_of(value: Any) -> Any:
    """Text of an expression; other values unchanged."""
    is_expression = type(value).__module__ == "forkrun.modules.expressions"
    return value.text if is_expression else value


def _is_ours(path: Path) -> bool:
    return path.resolve().is_relative_to(Path(_core.__file__).resolve().parent)
