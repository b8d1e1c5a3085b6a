"""[batch]: how a job runs on many nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from forkrun.config.checks import After, Rule
from forkrun.config.choices import BatchSystem, OutputsMade
from forkrun.config.section import (
    Count,
    Duration,
    Flag,
    Number,
    Positive,
    Section,
    Size,
    Texts,
    at_most,
    whole,
)


def _one_line_each(values: tuple[str, ...]) -> tuple[str, ...]:
    if any("\n" in value for value in values):
        raise ValueError("write one line in each text")
    return values


def _with(*names: str) -> Callable[[str], str]:
    def check(command: str) -> str:
        missing = [f"{{{name}}}" for name in names if f"{{{name}}}" not in command]
        if missing:
            raise ValueError(f"write {' and '.join(missing)} where the command needs it")
        return command

    return check


Word = Annotated[str, Rule(pattern=r"^[^\s\"'\\]+$")]
ShellText = Annotated[str, Rule(pattern=r"^[^\"`\\\n]+$")]
Lines = Annotated[Texts, After(_one_line_each)]
Factor = Annotated[Number, Rule(ge=1), at_most(100, "a hundred times what was asked for")]


class BatchConfig(Section):
    """[batch]: what a node is given, and how it is set up."""

    on: BatchSystem | None = None
    """Batch system, unless the command line names one."""
    partition: Word | None = None
    """Partition of Slurm; not given: the site's."""
    account: Word | None = None
    """Account; `accounting_group` of HTCondor."""
    time: Duration | None = None
    """Time limit of a node's job (`"8h"`): children end in time, and the job is requeued."""
    memory: Size | None = None
    """Memory of a node's job (`"16 GB"`); also the limit of its children, `limits.memory`."""
    cores: Positive | None = None
    """Cores of a node's job, which has as many children as fit; not given: children times
    threads."""
    at_once: Positive | None = None
    """Largest number of nodes that run at the same time; not given: all, on this machine one."""
    directives: Lines = ()
    """More options of `sbatch` (`"--constraint=avx2"`), or lines of HTCondor's submit
    description."""
    scratch: ShellText | None = None
    """Folder on a node's own disk to work in: `"$TMPDIR"`, `"$_CONDOR_SCRATCH_DIR"`
    (docs/batch.md#scratch-disks-and-copies-in-and-out); not given: the run directory."""
    publish_every: Duration = 30.0
    """How often commits on scratch are copied to the run directory."""
    stage_in: Annotated[str, After(_with("source", "target"))] | None = None
    """Command that copies an input file to scratch: `"xrdcp --silent {source} {target}"`."""
    stage_out: Annotated[str, After(_with("source", "name"))] | None = None
    """Command that copies a collected output: `"xrdcp -f --cksum adler32:{adler32} {source}
    root://se.site//store/user/me/{name}"`."""
    setup: Lines = ()
    """Shell commands before forkrun starts on a node, such as `voms-proxy-info --exists --valid
    8:00`; one that fails ends the node."""
    command: str | None = None
    """Command that starts forkrun on a node; not given: the Python that submits."""
    merge: Flag = False
    """Collect in a job that waits for the nodes, as `--merge`."""
    outputs: OutputsMade = OutputsMade.COLLECT
    """Where outputs are made: by `forkrun collect`, which reads the input again, or `"on nodes"`,
    which have read it (docs/batch.md#outputs-made-on-nodes)."""
    merge_jobs: Positive | None = None
    """Jobs that make parts of the outputs first (docs/batch.md#merging-in-parts); not given: one
    per 100 nodes."""
    retries: Count = 3
    """How often `forkrun resubmit` submits a node again; `--nodes` ignores it."""
    more_memory: Factor = 1.5
    """Factor on the memory of a node that was killed, perhaps for its memory."""
    more_time: Factor = 2.0
    """Factor on the time of a node that ran out of time without a commit."""

    @property
    def makes_outputs_on_nodes(self) -> bool:
        """Whether each node makes its part of the outputs."""
        return self.outputs is OutputsMade.ON_NODES

    @whole
    def _parts_are_made_once(self) -> None:
        if self.merge_jobs and self.makes_outputs_on_nodes:
            raise ValueError(
                'merge_jobs make parts of outputs, which with outputs = "on nodes" nodes have made:'
                " leave merge_jobs out"
            )

    @whole
    def _input_needs_a_place(self) -> None:
        if self.stage_in and not self.scratch:
            raise ValueError("stage_in copies to scratch: name that as well")
