"""Job for results missing from earlier runs: the whole job, reduced to the modules it needs."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from forkrun.config.model import JobConfig
from forkrun.parent.again.digests import JobResults
from forkrun.parent.preparation import PreparedJob
from forkrun.plan.model import Plan
from forkrun.rundir.results import CUTFLOW, OUTPUT, SUMS, ResultDigest


def reduced_job(results: JobResults, wanted: Collection[ResultDigest], plan: Plan) -> PreparedJob:
    """The prepared job for these results alone. `plan`: of the whole job, perhaps with more units:
    the order of events does not depend on the modules."""
    job = results.job
    config = _reduced(results, wanted)
    made = job.prepared_with(config, plan)
    schedule = replace(made.schedule, warnings=job.schedule.warnings)
    return replace(made, schedule=schedule, plan=plan, fingerprint=job.fingerprint)


def _reduced(results: JobResults, wanted: Collection[ResultDigest]) -> JobConfig:
    config = results.job.config
    sums, outputs, flows = (
        {each.label for each in wanted if each.kind == kind} for kind in (SUMS, OUTPUT, CUTFLOW)
    )
    sums |= {label for label in results.analyzers if label in _together(results, sums)}
    needed = results.closure(sums) | {m for path in flows for m in results.needed_by_cutflow(path)}
    needed |= {module for label in outputs for module in results.needed_by_output(label)}
    needed |= {module for label in sums for module in results.needed_by_sums(label)}
    needed |= results.weight_makers
    decided = {path for each in outputs for path in config.output_of[each].paths}
    if any(config.output_of[each].decisions for each in outputs):
        decided |= results.paths.keys()
    decided |= flows
    paths = {
        path: tuple(label for label in labels if label in sums or label in filters)
        for path, labels in results.paths.items()
        if (filters := _filters(results, path, path in decided, sums)) is not None
    }
    needed |= results.closure(label for labels in paths.values() for label in labels)
    monitoring = config.monitoring.replaced({"cutflow": results.are_counted})
    return config.replaced(
        {
            "modules": tuple(m for m in config.modules if m.label in needed),
            "paths": paths,
            "outputs": tuple(o for o in config.outputs if o.label in outputs),
            "monitoring": monitoring,
        }
    )


def _together(results: JobResults, sums: Collection[str]) -> set[str]:
    return results.closure({m for label in sums for m in results.needed_by_sums(label)})


def _filters(
    results: JobResults, path: str, is_decided: bool, sums: Collection[str]
) -> set[str] | None:
    """Modules of a path that decide, if needed; None: the path is not needed."""
    on_path = [label for label in results.paths[path] if label in sums]
    if not on_path and not is_decided:
        return None
    return set(results.filters(path))
