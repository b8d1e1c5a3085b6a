"""Results of a job on many nodes: each node computes those that are missing, and records their
digests; results that nodes have computed in different ways are not stored."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from forkrun.base.durable import read_json
from forkrun.parent.again.digests import JobResults
from forkrun.parent.again.reduced import reduced_job
from forkrun.parent.preparation import PreparedJob
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import check_submitted
from forkrun.rundir.fingerprint import Fingerprint, value_digest
from forkrun.rundir.results import ResultDigest, RunResults

_KEY = "results"
"""Part of a node's fingerprint: digests of its results."""
_OF_PART = {"input", "conditions"}
"""Inputs of results that differ between nodes, and that each node compares with the whole job."""


def job_of_node(
    whole: RunDirectory, node: RunDirectory, submitted: Fingerprint, job: PreparedJob
) -> PreparedJob:
    """A node's job, for the results that the `whole` job does not keep. Its fingerprint has their
    digests; those that differ from a present one, when the node resumes, become "". Raises
    OutputError unless the node has the job that was `submitted`."""
    check_submitted(whole, submitted, job.fingerprint)
    run = RunResults.read(whole)
    if not any(result.digest for result in run.results):
        return job
    results, before = JobResults(job), read_json(node.fingerprint).get(_KEY, {})
    digests = {result.name: _common_digest(result) for result in results.digests()}
    own = {name: d if before.get(name, d) == d else "" for name, d in digests.items()}
    if run.kept:
        wanted = [result for result in run.results if not run.keeps(*result.key)]
        job = reduced_job(results, wanted, job.plan)
    return replace(job, fingerprint={**job.fingerprint, _KEY: own})


def note_differences(whole: RunDirectory, nodes: Iterable[int]) -> None:
    """Marks results that one of these nodes has computed with other code or packages than recorded
    for the job: they are not stored for later jobs."""
    run = RunResults.read(whole)
    wanted = {r.name: _common_digest(r) for r in run.results if r.digest}
    if not wanted:
        return
    found = [read_json(whole.node(number).fingerprint).get(_KEY, {}) for number in nodes]
    differ = {n for n, digest in wanted.items() if any(each.get(n) != digest for each in found)}
    why = ("nodes have computed it with other code, packages or builds",)
    results = [
        replace(r, reasons=why) if r.name in differ and not run.keeps(*r.key) else r
        for r in run.results
    ]
    if differ:
        replace(run, results=tuple(results)).write(whole)


def _common_digest(result: ResultDigest) -> str:
    """Digest of what a result depends on in every node."""
    parts = {name: digest for name, digest in result.parts.items() if name not in _OF_PART}
    return value_digest([parts, result.reasons])
