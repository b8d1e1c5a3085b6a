"""Words of the page, each explained once; docs/monitoring.md says more."""

from __future__ import annotations

WORDS = {
    "events read": "Events that children read and that are safely in the ledger. Digests of their"
    " ids are compared with those of the plan: equal means each once, none missing, none twice.",
    "rate": "Events read, divided by the time of the whole job; in the event loops: by the time"
    " from the first event of any child to the end of the last.",
    "utilization": "Sum of the children's processing times, divided by the longest and by the"
    " number of children: 100 % if all were busy until the last one ended.",
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
    "start-up": "From the job's start to the last child's first event: index and plan, modules and"
    " conditions, fork, first event.",
    "all busy": "From the last child's first event to the first child's end.",
    "shut-down": "From the first child's end to the job's end: waiting for the last child, merge.",
    "merge": "Joins what children wrote into the outputs, and compares these with the input.",
    "unit": "Stretch of events that is handed out, processed and committed together.",
    "lumi": "Luminosity section: the smallest part of a run for which data are certified.",
    "commit": "Line in the ledger of a child: what it says is done, whatever dies afterwards.",
    "read calls": "Reads of the input by the event loops, as the core counts them, whether the page"
    " cache had the bytes or not.",
    "calls": "How often a module was called: once per block of events.",
    "mean": "Mean time of a call.",
    "p95": "95 of 100 calls took no longer; within 6 %.",
    "CPU": "Time on a CPU of the threads in those calls, from a sample of them.",
    "waits for inputs": "Asked for, but inputs were not made yet.",
    "waits for its turn": "Inputs were there, but the module is called by one thread at a time.",
    "source column": "Reading, unzipping and decoding of one column of the input.",
    "cutflow": "Events left behind each filter of a path, in its order.",
    "of the last": "Share of the events that the step before had left.",
    "of all": "Share of all events of the path.",
    "size": "Of the merged file; it is read back after it was written.",
    "agrees": "The merged file was read back: its events have the digest of what was selected.",
}
