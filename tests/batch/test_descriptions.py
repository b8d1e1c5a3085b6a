"""What batch systems are given for a submission, without one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forkrun.batch.course import NodeJobs, last_words, reports_exceeded_memory
from forkrun.batch.systems.htcondor import HTCondor, description
from forkrun.config.batch import BatchConfig
from forkrun.errors import ConfigError
from forkrun.rundir.directory import RunDirectory

HERE = RunDirectory(Path("/shared/a run $1"))


def submission(*nodes: int) -> NodeJobs:
    return NodeJobs(3, "htcondor", "forkrun-job-0a1b2c3d", nodes, 90.5, 2 << 30, 1.0, "host")


def test_htcondor_is_given_a_job_for_each_node() -> None:
    batch = BatchConfig(cores=4, account="cms", at_once=3, directives=("+MaxRuntime = 90",))
    lines = description(HERE, submission(2, 5), batch).splitlines()
    assert lines[-2:] == ["+MaxRuntime = 90", "queue node in (2, 5)"]
    assert "executable = /shared/a run $(DOLLAR)1/batch/htcondor-3.sh" in lines
    assert "on_exit_remove = ExitBySignal || ExitCode != 9" in lines
    wanted = {"request_cpus = 4", "request_memory = 2048", "allowed_job_duration = 91",
              "accounting_group = cms", "concurrency_limits = forkrun_0a1b2c3d:769344"}  # fmt: skip
    assert wanted <= set(lines)


def test_htcondor_understands_the_description() -> None:
    bindings: Any = pytest.importorskip("htcondor2", reason="pip install htcondor")
    text = description(HERE, submission(2, 5), BatchConfig(cores=4, at_once=3))
    submit = bindings.Submit(text)
    submit.expand("executable")
    assert submit["My.ForkrunNode"] == "$(node)"
    assert submit.getQArgs() == "node in (2, 5)"
    assert [each["node"] for each in submit.itemdata()] == ["2", "5"]


def test_htcondor_has_no_partitions() -> None:
    with pytest.raises(ConfigError, match="HTCondor has no partitions"):
        HTCondor().check(BatchConfig(partition="short"))


_LOG = """\
000 (7.001.000) 2026-11-23 01:58:43 Job submitted from host: <127.0.0.1:9618>
...
012 (7.001.000) 2026-11-23 01:59:43 Job was held.
\tError from slot1_1@n: Job has gone over cgroup memory limit of 128 megabytes.
\tCode 34 Subcode 0
...
009 (7.001.000) 2026-11-23 01:59:45 Job was aborted.
\tThe job attribute PeriodicRemove expression 'JobStatus == 5' evaluated to TRUE
...
"""


def test_why_htcondor_ended_a_job_is_in_its_log(tmp_path: Path) -> None:
    folder, last = RunDirectory(tmp_path), submission(4, 6)
    logs = folder.batch_log(0).parent
    logs.mkdir(parents=True)
    (logs / "0006.log").write_text("forkrun: evicted by the batch system\n")
    (logs / "htcondor-3-7_1.log").write_text(_LOG)
    assert last_words(folder, 6, last).startswith(
        "htcondor: Job was held: Error from slot1_1@n: Job has gone over cgroup memory limit"
    )
    assert reports_exceeded_memory(folder, 6, last)
    (logs / "htcondor-3-7_1.log").write_text(_LOG.partition("012")[0])
    assert last_words(folder, 6, last) == "evicted by the batch system"
    assert not reports_exceeded_memory(folder, 6, last)
