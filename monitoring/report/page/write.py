"""Page in one file: shell, style and scripts of this folder around the content; and its glossary,
of which docs/monitoring.md says more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

WORDS = {
    "events read": "Events that children read and that are safely in the ledger. Digests of their"
    " ids are compared with those of the plan: equal means each once, none missing, none twice.",
    "rate": "Events read, divided by the time of the whole job; in the event loops: by the time"
    " from the first event of any child to the end of the last.",
    "utilization": "Sum of the children's processing times, divided by the longest and by the"
    " number of children, for each session and node: 100 % if all were busy until the last one"
    " ended.",
    "dispersion": "How different the children's times are: longest minus shortest, and the standard"
    " deviation divided by the mean.",
    "processing time": "Sum of the times of a child's units, each from its begin to its commit.",
    "CPU efficiency": "CPU time, divided by processing time and by the threads of a child. More"
    " than 100 % where another thread reads ahead.",
    "PSS": "Proportional set size: a page that n processes map counts 1/n in each. Its sum over"
    " processes is the memory that the job really takes.",
    "private": "Memory that only one process maps: it would be free if that process ended.",
    "shared": "What the processes have in common, counted once: sum of PSS minus sum of private.",
    "if nothing were shared": "Sum of RSS: pages of each process, shared or not. Processes that"
    " were not forked from one parent would need about as much.",
    "start-up": "From a session's start to the last child's first event: index and plan, modules"
    " and conditions, fork, first event.",
    "all busy": "From the last child's first event to the first child's end.",
    "shut-down": "From the first child's end to the session's end: waiting for the last child,"
    " merge.",
    "merge": "Joins what children wrote into the outputs, and compares these with the input.",
    "unit": "Stretch of events that is handed out, processed and committed together.",
    "lumi": "Luminosity section: the smallest part of a run for which data are certified.",
    "commit": "Line in the ledger of a child: its work stays done if processes die.",
    "read calls": "Reads of the input by the event loops, as the core counts them, whether the page"
    " cache had the bytes or not.",
    "calls": "How often a module was called: once per block of events.",
    "mean": "Mean time of a call.",
    "p95": "95 of 100 calls took no longer; within 6 %.",
    "CPU": "Time on a CPU of the threads in those calls, from a sample of them.",
    "waits for inputs": "Asked for, but inputs were not made yet.",
    "waits for its turn": "Inputs were there, but the module is called by one thread at a time.",
    "time": "Wall time, summed over children and threads where these did it.",
    "share": "Part of the sum over all rows of this table.",
    "per event": "Divided by the events that were read, or by those in the file.",
    "longest": "Longest call of all.",
    "times": "How often it waited so.",
    "waited for": "What was made last of all that it waited for.",
    "module": "As it is named in the configuration.",
    "module or column": "Modules as the configuration names them, and columns that were read.",
    "kind": "What it is, and whether several threads may call it at once.",
    "what": "Threads of children, from when a child began to process to the end of its work.",
    "reading": "Waiting for bytes of the input, from a disk, the page cache or a server.",
    "unpacking": "Uncompressing what was read, and making columns of it.",
    "processing": "In modules: producers, filters and analyzers.",
    "committing": "Writing what events were selected, and making it durable: outputs, ledger.",
    "waiting": "All else: no work, inputs that were not made yet, other threads, Python's lock.",
    "reading ahead": "By a thread that reads the next block while modules work on this one; in"
    " addition to the threads counted above.",
    "column": "Branch or field of the input, or part of one.",
    "common to columns": "What is read whichever columns are asked for: ids of events, and in LCIO"
    " records that hold all columns of an event.",
    "blocks": "How often the column was read: once per block of events that wanted it.",
    "column reads": "Reads of files for this column. What is read ahead of a server counts for all"
    " columns together.",
    "bytes read": "Asked of files for this column, compressed.",
    "unpacked": "Bytes that its baskets or pages became; those that are stored as they are do not"
    " count.",
    "ratio": "Unpacked bytes divided by compressed ones.",
    "unzipping": "Uncompressing its baskets, pages or records.",
    "decoding": "The rest of its time: swapping bytes, offsets, checks.",
    "gaps": "Time between sessions, in which nothing ran. It is part of no time and of no rate.",
    "session ended": "What the parent said last; a session is a parent from its start to its end.",
    "sessions": "Parents that worked on it one after the other: one, if nothing interrupted it.",
    "begin": "Since the job's start.",
    "length": "From its start to the last thing known of it.",
    "node": "Of a batch system: a parent with its children and a part of the plan.",
    "in the queue": "From each submission to the node's next start, by the clocks of the machines"
    " that submitted and ran it.",
    "machine": "Where it ran; of several sessions the last one.",
    "children that failed": "How often one was ended by a signal or an error; others redo what it"
    " had not committed.",
    "child": "Process that was forked from the parent: its number. One that died is forked again"
    " under the same number.",
    "children": "Processes that were forked from the parent.",
    "threads per child": "Threads of each child that call modules.",
    "status": "How its last process ended.",
    "units": "Units of work that it committed.",
    "events": "Events that were read or selected there.",
    "lumis": "Luminosity sections of which something is committed.",
    "files": "Files of the input.",
    "first event": "When its first unit began, since the job's start.",
    "end": "When it committed last, since the job's start.",
    "read": "Bytes of the input that the event loops read, compressed.",
    "processes": "Parent and children that lived then.",
    "when": "At the highest sum of PSS, and in the last complete sample while a child lived.",
    "phase": "Part of the job's time; indented: parts of the one above.",
    "of the job": "Divided by the time of all sessions, which is that of the whole job if nothing"
    " interrupted it and it ran on one node.",
    "wall time": "By the clock, while at least one session ran.",
    "active time": "Lengths of sessions, added up.",
    "output": "Label in the configuration.",
    "of those read": "Events in the output, divided by events that could be selected.",
    "compression": "Of the output's file.",
    "rewritten by ROOT": "Branches whose entries could not be copied as bytes.",
    "path": "Filters and analyzers in order, as the configuration names it.",
    "refused as None": "Events without a value of the filter.",
    "after": "Filter of the path; (all): its beginning.",
    "weights": "Sum of the weights of these events.",
    "sum of weights": "Of all events of the simulation, for its normalisation.",
    "dataset": "As it is named in the configuration.",
    "run directory": "Where a run keeps what it did.",
    "outcome": "Done is said only of a job whose counts and digests agree.",
    "forkrun": "Version of forkrun, with a digest of its build.",
    "configuration": "Begin of the SHA-256 of config.json.",
    "figure": "Value of the reports.",
    "peak memory": "Highest sum of PSS over the processes in a complete sample.",
    "part": "What is counted once, or private memory of the parent, a child or several with about"
    " as much.",
    "median": "Private memory of one of them: half have no more.",
    "highest": "Private memory of the one with most.",
    "result": "Histogram, output or cutflow.",
    "in this run": "Whether it was computed, or kept of an earlier run.",
    "computed": "When the run that computed it did so.",
    "digest": "Of all that the result depends on.",
    "kind of memory": "At the fork: by owner and use of the addresses. New: by what the child did"
    " before its memory was seen to have grown.",
    "became private": "Shared with the parent at the fork, and copied since, because somebody wrote"
    " to the page.",
    "new": "Not there at the fork; less than 0 where more was freed.",
    "at the fork": "Memory of no file that children had in common with their parent.",
    "owner": "Condition or module that holds the object, the first of several; Python itself: the"
    " interpreter with libraries, classes and functions.",
    "mostly after": "First module or step after which the pages were private.",
    "where": "Use of the addresses: a Python object's arena, C heap, stack, data of a library.",
    "type": "Class of the Python object.",
    "why, usually": "Usual reason for such memory.",
    "of memory": "Memory of this row at the fork.",
    "process": "Parent, or a child on average, and when its memory was read.",
    "glibc heap": "Heap of C and C++.",
    "anonymous mapping": "Arenas of Python, large arrays, heaps of threads.",
    "stack": "Of all threads.",
    "code and data of libraries": "Mapped files, with what was written to them.",
    "other": "Memory shared by all processes of the job, and of the kernel.",
    "outputs": "Files that the merge made.",
    "cutflow": "Events left after each filter of a path, in its order.",
    "of the last": "Share of the events that the step before had left.",
    "of all": "Share of all events of the path.",
    "size": "Of the merged file; it is read back after it was written.",
    "agrees": "The merged file was read back: its events have the digest of what was selected.",
}


_FOLDER = Path(__file__).parent
_READS_CONTENT = 'const CONTENT = JSON.parse(document.getElementById("content").textContent);'


def page_of(
    title: str, scripts: Sequence[str], content: Mapping[str, Any], text: str, picture: str = ""
) -> str:
    """Whole page, which loads nothing from elsewhere. `scripts`: files of this folder; `text`,
    `picture`: shown if scripts are disabled, the picture as SVG."""
    shell = _text("shell.html")
    parts = {
        "title": escape(title),
        "static": f"<h1>{escape(title)}</h1>{picture}<pre>{escape(text)}</pre>",
        "style": _text("page.css"),
        "content": _as_script({**content, "words": WORDS}),
        "script": "\n".join([_READS_CONTENT, *map(_text, scripts)]),
    }
    before, *rest = shell.split("{{")
    pieces = [before]
    for piece in rest:
        name, after = piece.split("}}", 1)
        pieces += [parts[name], after]
    return "".join(pieces)


def _as_script(content: Mapping[str, Any]) -> str:
    """JSON that never closes its script element, with any names in it; NaN and infinities become
    null."""
    try:
        text = _compact(content)
    except (TypeError, ValueError):
        text = _compact(_finite(content))
    return text.replace("<", "\\u003c")


def _compact(content: Any) -> str:
    """Compact JSON. Raises ValueError for NaN and infinities, TypeError for other invalid
    values."""
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


@cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
