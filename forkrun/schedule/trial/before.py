"""Problems of a job that are found without calling its modules, which may take long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forkrun import _core
from forkrun.errors import ConfigError
from forkrun.modules.python_module import PythonModule
from forkrun.schedule.variations import Wiring
from forkrun.schedule.versions import AT_INPUT


def problems_before_trial(
    labels: Sequence[str],
    paths: Mapping[str, Sequence[str]],
    modules: Mapping[str, PythonModule],
    in_cpp: Mapping[str, Wiring],
    types: Mapping[str, str],
) -> list[str]:
    """Problems of paths, and of declared columns if all columns are known in advance, found by
    compiling a schedule of stand-ins. `labels`: of all modules; `paths`: labels on each path;
    `types`: of input columns."""
    is_known = all(m.produces for m in modules.values() if m.kind == "producer")
    is_known = is_known and not any(m.replaces for m in modules.values())
    builder = _core.ScheduleBuilder(list(types.items()), 0, None)
    kind: Any
    for label in labels:
        if module := modules.get(label):
            kind, makes = module.kind, dict(module.produces)
            reads = [name.removesuffix(AT_INPUT) for name in module.consumes]
        elif wiring := in_cpp.get(label):
            kind, reads = wiring.kind, []
            makes = dict.fromkeys(wiring.makes, "float64")  # any type: existence counts
        else:
            continue
        reads, makes = (reads, makes) if is_known else ([], {})
        builder.add_python_module(label, kind, object(), reads, makes)
    for path, on_path in paths.items():
        builder.add_path(path, list(on_path))
    try:
        builder.compile()
    except ConfigError as error:
        return list(error.problems)
    return []
