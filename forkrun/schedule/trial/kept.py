"""Findings of earlier trials, kept in the user's cache: a module is not called again to find what
it reads while nothing that may decide about it has changed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from forkrun.config.anchor import cache_folder
from forkrun.config.model import JobConfig
from forkrun.index.read import IndexCache
from forkrun.modules.program.dependence import Dependence, JobCode, together
from forkrun.rundir.fingerprint import (
    CHOICE,
    OF_PROGRAM,
    doubtful_conditions,
    named_files,
    value_digest,
)
from forkrun.schedule.found_out import Tried
from forkrun.schedule.plugins import plugin_libraries
from forkrun.schedule.trial.first_events import FirstEvents

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class KeptFindings(Struct, frozen=True):
    """`keys`: of the findings about modules, by label; none for a module whose calls may depend on
    more than its key covers."""

    keys: Mapping[str, str]
    cache: IndexCache

    @classmethod
    def of(
        cls,
        config: JobConfig,
        code: JobCode,
        payloads: Sequence[str],
        modules: Mapping[str, PythonModule],
        first: Iterable[tuple[FirstEvents, int]],
        facts: Sequence[Any],
    ) -> KeptFindings:
        """Findings about `modules` called with the `first` events. `payloads`: files of conditions;
        `facts`: other input of the trial."""
        cache = IndexCache(cache_folder("index"))
        libraries, reasons = plugin_libraries(config.job.plugins, time.time())
        described = config.as_json(OF_PROGRAM)
        paths = config.paths.values()
        reasons = [*reasons, *doubtful_conditions(described, payloads)]
        if cache.folder is None or reasons or config.source.friends or together(code.modules):
            return cls({}, cache)
        own = {
            each["label"]: _of_module(each, code.modules.get(each["label"]))
            for each in described["modules"]
        }
        deciding = {n: own[n] for n in own if n not in modules or not _fills(modules[n])}
        if code.behaviors.reasons or not all(deciding.values()):
            return cls({}, cache)
        files = named_files([described["conditions"], *payloads])
        settings = [*_settings(described), files, libraries, code.behaviors.digest]
        events = [_described(each, iov) for each, iov in first]
        common = value_digest([code.environment, settings, events, facts, [*deciding.items()]])
        keys = {}
        for label, module in modules.items():
            seen = {label, *deciding}
            order = [[each for each in path if each in seen] for path in paths]
            if not module.is_declared and own[label]:
                keys[label] = value_digest([common, own[label], order])
        return cls(keys, cache)

    def tell(self, modules: Mapping[str, PythonModule]) -> Tried | None:
        """Completes modules with findings of earlier trials; only analyzers, which no other module
        needs, if a trial is needed. Returns None if there are none."""
        missing = {label for label, module in modules.items() if not module.is_declared}
        found = {
            label: kept
            for label in missing & self.keys.keys()
            if (kept := self.cache.find_result({"found": self.keys[label]}))
        }
        if missing - found.keys():
            found = {label: kept for label, kept in found.items() if _fills(modules[label])}
        for label, kept in found.items():
            modules[label].found_out(kept["reads"], kept["produces"])
        imports = dict.fromkeys(name for kept in found.values() for name in kept["imports"])
        n_tried = min((kept["n"] for kept in found.values()), default=0)
        rate = min((kept["rate"] for kept in found.values()), default=0.0)
        return Tried(n_tried, list(imports), rate=rate) if found else None

    def keep(self, modules: Mapping[str, PythonModule], tried: Tried) -> None:
        """Keeps the findings of a trial with just the events that keys cover."""
        if not tried.is_whole:
            return
        for label, key in self.keys.items():
            module = modules[label]
            found = {
                "label": label,
                "reads": list(module.consumes),
                "produces": dict(module.produces),
                "n": tried.n_events,
                "imports": list(tried.imports),
                "rate": tried.rate,
            }
            self.cache.keep_result({"found": key}, found)


def _settings(described: Mapping[str, Any]) -> list[Any]:
    """Sections that the answer of a module may depend on, without the choice of events."""
    sections = [described["source"], *described["datasets"]]
    chosen = [{k: v for k, v in each.items() if k not in CHOICE} for each in sections]
    return [*chosen, described["conditions"], described["job"]]


def _described(events: FirstEvents, iov: int) -> list[Any]:
    """The events' places, by the identities of their files."""
    files = events.branches.files
    return [iov, events.lumis, [(files[r.file].identity, r.first, r.last) for r in events.ranges]]


def _fills(module: PythonModule) -> bool:
    return module.kind == "analyzer"


def _of_module(described: Mapping[str, Any], code: Dependence | None) -> list[Any]:
    """Settings, files and code of a module; nothing if its calls depend on more."""
    if code is None:
        return [described]
    settings = {**described, "type": ""}
    return [] if code.reasons else [settings, named_files([described["params"]]), code.digest]
