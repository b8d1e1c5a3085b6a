"""Digests of the results of a prepared job: each covers everything that the result depends on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun.base.destinations import TOGETHER
from forkrun.config.modules import ModuleConfig
from forkrun.histograms.configured_axes import without_fine_bins
from forkrun.index.whole_input import input_name
from forkrun.modules.program.dependence import JobCode, together
from forkrun.parent.preparation import PreparedJob
from forkrun.rundir.fingerprint import (
    CHOICE,
    OF_PROGRAM,
    doubtful_conditions,
    named_files,
    value_digest,
)
from forkrun.rundir.results import CUTFLOW, OUTPUT, SUMS, ResultDigest
from forkrun.schedule.job_modules import is_cpp
from forkrun.schedule.plugins import plugin_libraries
from forkrun.schedule.versions import plain_name

FORKRUN = "forkrun and Python"
"""Name of the digest of builds."""
_OF_MERGE = {"carry", "keep_first"}
"""Keys of [merge] that affect outputs."""
_OF_FILES = {"mode", "per_lumi", "datasets", "format", "flat_names", "parquet", "compression"}
"""Keys of an output that affect its files, but not its fragments."""


class _Module(Struct, frozen=True):
    """`kind`: in the schedule; `needs`: labels of modules whose products it reads."""

    entry: ModuleConfig
    kind: str
    needs: frozenset[str]


class JobResults:
    """The results of a job, and their dependences. `modules`: by label, in their order; `paths`:
    labels by name."""

    def __init__(self, job: PreparedJob) -> None:
        self.job = job
        self.paths: Mapping[str, tuple[str, ...]] = {
            name: tuple(labels) for name, labels in job.config.paths.items()
        }
        wiring = job.schedule.wiring
        self._maker = {
            product: plain_name(label)
            for label, (_, _, makes) in wiring.items()
            for product in makes
        }
        entries = {entry.label: entry for entry in job.config.modules}
        kinds = {plain_name(label): kind for label, (kind, *_) in wiring.items()}
        reads: dict[str, set[str]] = {}
        for label, (_, products, _) in wiring.items():
            makers = {self._maker[p] for p in products if p in self._maker}
            reads.setdefault(plain_name(label), set()).update(makers)
        self._reads = reads
        self.modules = {
            label: _Module(entry, kinds[label], frozenset(reads[label] - {label}))
            for label, entry in entries.items()
            if label in kinds
        }

    @cached_property
    def _places(self) -> dict[str, int]:
        """Places of the modules, in their order."""
        return {label: place for place, label in enumerate(self.modules)}

    # --- dependences ------------------------------------------------------------------------------

    def closure(self, labels: Iterable[str]) -> set[str]:
        """The modules, producers of their inputs, and modules sharing state that one of them
        changes."""
        found: set[str] = set()
        waiting = list(labels)
        while waiting:
            label = waiting.pop()
            if label not in found and label in self.modules:
                found.add(label)
                waiting += [*self.modules[label].needs, *self._together.get(label, ())]
        return found

    def filters(self, path: str, before: str = "") -> list[str]:
        """Modules of a path that may decide about events, up to `before`."""
        deciding = self._deciding[path]
        if not before:
            return [label for _, label in deciding]
        end = self._last_places[path][before]
        return [label for place, label in deciding if place < end]

    @cached_property
    def _deciding(self) -> dict[str, list[tuple[int, str]]]:
        """Modules that may decide about events, with their places, by path."""
        return {
            path: [
                (place, label)
                for place, label in enumerate(labels)
                if label in self.modules and not self._fills(label)
            ]
            for path, labels in self.paths.items()
        }

    @cached_property
    def _last_places(self) -> dict[str, dict[str, int]]:
        """Last place of each label on a path."""
        return {path: {n: k for k, n in enumerate(labels)} for path, labels in self.paths.items()}

    def _fills(self, label: str) -> bool:
        return self.modules[label].kind == "analyzer"

    @cached_property
    def analyzers(self) -> list[str]:
        """Labels of modules that fill histograms or otherwise use events, in the order in which
        their histograms are written: those in C++ first."""
        in_cpp = [plain_name(h.module) for h in self.job.schedule.core.histograms()]
        in_cpp += [label for label, each in self.modules.items() if is_cpp(each.entry)]
        labels = dict.fromkeys([*in_cpp, *self.modules])
        return [label for label in labels if label in self.modules and self._fills(label)]

    def paths_of(self, analyzer: str) -> list[str]:
        """Paths that contain a module."""
        return [path for path, places in self._last_places.items() if analyzer in places]

    def needed_by_output(self, label: str) -> set[str]:
        """Modules that make an output's columns or decide which events it accepts."""
        output = self.job.config.output_of[label]
        paths = self.paths if output.decisions else output.paths
        wanted = {label for path in paths for label in self.filters(path)}
        wanted |= self._reads.get(label, set())
        if output.variation:
            wanted |= set(self._with_variations())
        return self.closure(wanted)

    def _with_variations(self) -> Iterator[str]:
        for label, each in self.modules.items():
            module = self.job.schedule.modules.get(label)
            in_python = module is not None and (module.variations or module.only_variation)
            if (
                in_python
                or each.entry.variations
                or each.entry.variation
                or each.kind != "analyzer"
            ):
                yield label

    @cached_property
    def weight_makers(self) -> set[str]:
        """Modules that make the weight of cutflows."""
        weight = self.job.config.monitoring.cutflow_weight
        made = {label for p, label in self._maker.items() if weight and plain_name(p) == weight}
        return self.closure(made)

    def needed_by_cutflow(self, path: str) -> set[str]:
        """Modules that decide on a path, and those that make the weights."""
        return self.closure(self.filters(path)) | self.weight_makers

    def needed_by_sums(self, label: str) -> set[str]:
        """An analyzer with all its inputs, and the filters before it."""
        before = {f for path in self.paths_of(label) for f in self.filters(path, label)}
        return self.closure({label, *before})

    # --- digests ----------------------------------------------------------------------------------

    def digests(self) -> tuple[ResultDigest, ...]:
        """Digests of all results, in their order."""
        sums = [self._sums(label) for label in self.analyzers]
        outputs = [self._output(output.label) for output in self.job.config.outputs]
        flows = [self._cutflow(path) for path in self.paths] if self.are_counted else []
        return (*sums, *outputs, *flows)

    @property
    def are_counted(self) -> bool:
        """Whether the job counts events after filters."""
        return any(label.startswith("cutflow ") for label in self.job.schedule.wiring)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Key of each input file: of its content and location, its dataset, and the dataset's
        weight; "" for a repeated file."""
        described, sums = self._described["datasets"], self.job.schedule.found.sums_of_weights
        of_datasets: list[Any] = [
            [{**each, "files": None}, sums.get(each["name"])] for each in described
        ]
        of_datasets = of_datasets or [None]
        digests = self.job.fingerprint["input"]
        keys = [
            value_digest([input_name(f), digests.get(input_name(f)), of_datasets[f.dataset]])[:24]
            for f in self.job.planned.index
        ]
        times = Counter(keys)
        return tuple(key if times[key] == 1 else "" for key in keys)

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of the input's files, by key."""
        return {key: number for number, key in enumerate(self.files) if key}

    @cached_property
    def is_additive(self) -> bool:
        """Whether sums and cutflows of all events are the sums over parts: no module has callbacks
        at transitions or needs a lumi in one piece, and no friend has columns."""
        schedule = self.job.schedule
        wants_lumis = schedule.core.wants_whole_lumis or schedule.one_lumi
        return not (wants_lumis or self.job.config.source.friends)

    @cached_property
    def _of_sums(self) -> dict[str, str]:
        """Digests common to all sums and cutflows: without the selected events, where parts can be
        added."""
        if not self.is_additive:
            return self._of_all
        source = {k: v for k, v in self._described["source"].items() if k not in CHOICE}
        known = {"columns": msgspec.to_builtins(self.job.schedule.found.branches)}
        now = {
            "source": value_digest([source, known]),
            "datasets": value_digest(bool(self.job.config.datasets)),
        }
        return {k: v for k, v in self._of_all.items() if k not in ("input", *now)} | now

    def _sums(self, label: str) -> ResultDigest:
        order = {
            f"order of {p}": value_digest(self.filters(p, label)) for p in self.paths_of(label)
        }
        binning = self._binning(label)
        forms = {} if binning else self._forms.get(label, {})
        settings = {f"axes of {label}": value_digest([forms, self._booked(label)])}
        parts = self._of_sums | order | settings
        found = self._result(SUMS, label, self.needed_by_sums(label), parts)
        return replace(found, title=self.modules[label].entry.name or label, files=binning)

    def _binning(self, label: str) -> str:
        """Digest of the axes that a histogram is made with of fine sums; "" if none are kept."""
        axes = self.described_modules[label].get("axes", ())
        return value_digest(axes) if any(axis.get("keep_fine") for axis in axes) else ""

    @cached_property
    def _forms(self) -> dict[str, dict[str, str]]:
        """Axes and storage of histograms, by module and name."""
        found: dict[str, dict[str, str]] = {}
        for name, form in self.job.schedule.histogram_forms().items():
            found.setdefault(name.partition("/")[0], {})[name] = form
        return found

    def _booked(self, label: str) -> list[str]:
        module = self.job.schedule.modules.get(plain_name(label))
        if module is None:
            return []
        booked = module.histograms().items()
        titles = [f"{name} {getattr(b.histogram, 'label', '')}" for name, b in booked]
        return [*titles, *module.datasets_in_names]

    def _output(self, label: str) -> ResultDigest:
        job, output = self.job, self.job.config.output_of[label]
        merge = {key: self._described["merge"][key] for key in _OF_MERGE}
        of_label = (each for each in self._described["outputs"] if each["label"] == label)
        described = dict(next(of_label))
        content = msgspec.to_builtins(job.schedule.outputs[label])
        own = {key: described.pop(key) for key in _OF_FILES}
        names = [each.name for each in job.config.datasets if output.datasets == TOGETHER]
        settings = [described, content, job.schedule.input_format, names]
        paths = self.paths if output.decisions else output.paths
        order = {f"order of {path}": value_digest(self.filters(path)) for path in paths}
        parts = {**self._of_sums, f"settings of {label}": value_digest(settings), **order}
        found = self._result(OUTPUT, label, self.needed_by_output(label), parts)
        whole = [self._of_all[name] for name in ("input", "source", "datasets")]
        return replace(found, files=value_digest([whole, own, merge]))

    def _cutflow(self, path: str) -> ResultDigest:
        weight = self.job.config.monitoring.cutflow_weight
        order = {f"order of {path}": value_digest(self.filters(path)), "weight": weight}
        parts = self._of_sums | order
        return self._result(CUTFLOW, path, self.needed_by_cutflow(path), parts)

    def _result(
        self, kind: str, label: str, needed: set[str], parts: Mapping[str, str]
    ) -> ResultDigest:
        labels = sorted(needed, key=self._places.__getitem__)
        own = {f"{self._word(each)} {each}": self._of_module[each][0] for each in labels}
        reasons = [why for each in labels for why in self._of_module[each][1]]
        behaviors = self._code.behaviors
        reasons += [*self._doubtful_conditions, *behaviors.reasons]
        parts = {**parts, "behaviors": behaviors.digest, **own}
        return ResultDigest(kind, label, parts, tuple(dict.fromkeys(reasons)))

    def _word(self, label: str) -> str:
        entry = self.modules[label].entry
        if entry.kind == "producer":
            return "column" if entry.type.startswith("expression:") else "function"
        return entry.kind or "module"

    @cached_property
    def _described(self) -> dict[str, Any]:
        return self.job.config.as_json(OF_PROGRAM)

    @cached_property
    def described_modules(self) -> dict[str, dict[str, Any]]:
        """Modules as in config.json, by label."""
        return {each["label"]: each for each in self._described["modules"]}

    @cached_property
    def _of_all(self) -> dict[str, str]:
        """Digests common to all results."""
        job = self.job
        known, units = job.fingerprint["configuration"], job.plan.units
        ranges = units.joined_ranges(np.arange(len(units)))
        chosen = hashlib.sha256(np.ascontiguousarray(ranges).data).hexdigest()
        settings = job.config.job
        return {
            "input": value_digest([[*job.fingerprint["input"].items()], job.plan.n_events, chosen]),
            "source": known["source"],
            "datasets": known["datasets"],
            "job": value_digest(
                [settings.seed, settings.luminosity, job.config.threads.block_size]
            ),
            "conditions": value_digest([known["conditions"], job.fingerprint["conditions"]]),
            FORKRUN: self._code.environment,
        }

    @cached_property
    def _doubtful_conditions(self) -> list[str]:
        return doubtful_conditions(self._described, self.job.schedule.conditions.files())

    @cached_property
    def _code(self) -> JobCode:
        """Dependences of the code, looked at again after imports that affect them."""
        code, modules = self.job.schedule.code, self.job.schedule.modules
        if code and code.is_complete:
            return code
        return JobCode.of({label: m for label, m in modules.items() if label in self.modules})

    @cached_property
    def _of_module(self) -> dict[str, tuple[str, list[str]]]:
        """Digest of each module itself, by label, and reasons why it is incomplete."""
        return {label: self._own_digest(label, each.entry) for label, each in self.modules.items()}

    def _own_digest(self, label: str, entry: ModuleConfig) -> tuple[str, list[str]]:
        described = self.described_modules[label]
        described = {**described, "axes": [*map(without_fine_bins, described.get("axes", ()))]}
        files = named_files([entry.params])
        if (own := self._code.modules.get(label)) is not None:
            described["type"] = ""
            found = self.job.schedule.found.modules.get(label)  # by the input's first events
            digest = value_digest([described, files, own.digest, found])
            return digest, [f"{why}" for why in own.reasons]
        libraries, reasons = self._libraries if self.job.config.job.plugins else ("", [])
        return value_digest([described, files, libraries]), reasons

    @cached_property
    def _libraries(self) -> tuple[str, list[str]]:
        return plugin_libraries(self.job.config.job.plugins, self.job.start_s)

    @cached_property
    def _together(self) -> dict[str, set[str]]:
        return together(self._code.modules)
