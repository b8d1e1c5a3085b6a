"""[batch]: how a job runs on many nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

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


Word = Annotated[str, Field(pattern=r"^[^\s\"'\\]+$")]
ShellText = Annotated[str, Field(pattern=r"^[^\"`\\\n]+$")]
Lines = Annotated[Texts, AfterValidator(_one_line_each)]
Factor = Annotated[Number, Field(ge=1), at_most(100, "a hundred times what was asked for")]


class BatchConfig(Section):
    """[batch]: what a node is given, and how it is set up."""

    on: BatchSystem | None = None
    """What runs the nodes, where the command line says nothing."""
    partition: Word | None = None
    account: Word | None = None
    time: Duration | None = None
    """Time limit of a node's job ("8h"), at which units are committed and the job is requeued."""
    memory: Size | None = None
    """Memory of a node's job ("16 GB")."""
    cores: Positive | None = None
    """Cores of a node's job, which has as many children as fit."""
    at_once: Positive | None = None
    """Nodes that run at the same time, at most; not given: all, on this machine one."""
    directives: Lines = ()
    """More options of the batch system, such as "--constraint=avx2"."""
    scratch: ShellText | None = None
    """A folder of a node's own disk to work in, as "$TMPDIR"; not given: in the run directory."""
    publish_every: Duration = 30.0
    """How often what was committed on scratch is copied to the run directory."""
    stage_in: Annotated[str, AfterValidator(_with("source", "target"))] | None = None
    """Copies an input file to scratch before it is read: "xrdcp --silent {source} {target}"."""
    stage_out: Annotated[str, AfterValidator(_with("source", "name"))] | None = None
    """Copies an output to storage when it is collected: "xrdcp -f {source} root://se//me/{name}"."""
    setup: Lines = ()
    """Lines of the shell before forkrun starts on a node."""
    command: str | None = None
    """How forkrun is started on a node; not given: by the Python that submits."""
    merge: Flag = False
    """The outputs are merged when the nodes are done, by a job that waits for them."""
    outputs: OutputsMade = OutputsMade.COLLECT
    """Outputs are made when all is collected, in one place that reads the input again, or "on
    nodes", which have read it, and are joined when all is collected."""
    merge_jobs: Positive | None = None
    """Jobs that make parts of the outputs before these are merged; not given: one for each 100
    nodes."""
    retries: Count = 3
    """Times that `forkrun resubmit` submits a node that failed."""
    more_memory: Factor = 1.5
    """A node that was killed, perhaps for its memory, gets so many times more of it."""
    more_time: Factor = 2.0
    """A node that committed nothing in its time gets so many times more of it."""

    @property
    def are_outputs_on_nodes(self) -> bool:
        """Whether each node makes its part of the outputs."""
        return self.outputs is OutputsMade.ON_NODES

    @model_validator(mode="after")
    def _parts_are_made_once(self) -> Self:
        if self.merge_jobs and self.are_outputs_on_nodes:
            raise ValueError(
                'merge_jobs make parts of outputs, which with outputs = "on nodes" nodes have made:'
                " leave merge_jobs out"
            )
        return self

    @model_validator(mode="after")
    def _input_needs_a_place(self) -> Self:
        if self.stage_in and not self.scratch:
            raise ValueError("stage_in copies to scratch: name that as well")
        return self
