"""Does the modules' late imports before the fork; otherwise each child would repeat them in its own
memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forkrun.base.awkward_array import load_awkward
from forkrun.base.importing import collector_paused
from forkrun.fork.hazards import find_hazards, step
from forkrun.fork.helper import Say, ask_helper
from forkrun.formats.column_types import ColumnType
from forkrun.modules.expression_functions import OF_AWKWARD
from forkrun.modules.late_imports import Import, imports_in
from forkrun.modules.objects.collections import Columns
from forkrun.modules.objects.reading import ModuleColumns
from forkrun.modules.python_module import PythonModule

BY_COMPUTED_NAME = {"getattr", "objects"}
"""Ways to access columns and collections by computed names."""
_LIMIT_S = 60.0


def import_ahead(modules: Sequence[PythonModule], seen: Sequence[str]) -> None:
    """Imports what code of the modules names, and `seen`: imports noticed during the trial. Imports
    that might start threads are tried in a helper process first, and left to children if they
    do."""
    with step("modules were imported ahead"), collector_paused():
        functions = [each for module in modules for each in module.methods()]
        wanted = [Import(name) for name in seen]
        wanted = [each for each in (*wanted, *imports_in(functions)) if not each.is_done]
        for each in wanted:
            if each.is_harmless:
                each.do()
        for each in _safe([each for each in wanted if not each.is_harmless]):
            each.do()


def import_named(modules: Iterable[PythonModule], known: Columns) -> None:
    """Imports the libraries named in code of undeclared modules, before the trial: otherwise they
    would be imported twice, and the time attributed to an event."""
    with step("modules were imported ahead"), collector_paused():
        for module in modules:
            names = module.names()
            collections = [each for each in map(known.collection, names) if each]
            kinds = [known.types[name] for name in names if name in known.types]
            are_lists = any(ColumnType.of(kind).n_levels for kind in kinds)
            if collections or are_lists or not names.isdisjoint(OF_AWKWARD):
                load_awkward()
            for collection in collections:
                from forkrun.modules.objects.records import load_behaviour

                load_behaviour(collection, collection.columns)
            for each in imports_in(module.methods()):
                if each.is_harmless:
                    each.do()


def load_arrays(modules: Iterable[PythonModule]) -> None:
    """Imports Awkward and the object classes for modules that will be called."""
    with step("Awkward Array was imported"), collector_paused():
        for module in modules:
            columns, names = module.columns, module.names()
            assert isinstance(columns, ModuleColumns)
            known = columns.known.types
            kinds = [*(known[n] for n in module.consumes if n in known), *module.produces.values()]
            are_lists = any(ColumnType.of(kind).n_levels for kind in kinds)
            if are_lists or not names.isdisjoint(OF_AWKWARD):
                load_awkward()
                if module.module.consumes is not None:  # not tried: None may become masked
                    import numpy.ma  # noqa: F401
            columns.load_objects(names, any_name=not names.isdisjoint(BY_COMPUTED_NAME))


def _safe(wanted: Sequence[Import]) -> list[Import]:
    """Imports after which forking is safe, according to a process that has tried them."""
    said: list[int] = []

    def try_all(say: Say) -> None:
        before = {*find_hazards()}
        for number, each in enumerate(wanted):
            each.do()
            if {*find_hazards()} - before:
                return
            say(number)

    if wanted:
        ask_helper(try_all, said.append, limit_s=_LIMIT_S)
    return [wanted[number] for number in said]
