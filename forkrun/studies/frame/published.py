"""Published values of five works, measured again by the studies."""

from __future__ import annotations

from msgspec import Struct

WORKS = {
    "P1": "multi-core aware applications (CMS, 2010): forking; 32 cores, AMD Opteron 6128, 2 GHz",
    "P2": "a fine-grained framework with libdispatch (2012); 16 virtual cores, Xeon E5620",
    "P3": "libdispatch while reading with ROOT; a laptop of two cores",
    "P4": "a demonstrator with TBB; 32 cores, AMD Opteron 6128, 64 GB",
    "P5": "MarlinMT",
}
"""Works and their machines, by the first part of a line's number."""


class Published(Struct, frozen=True):
    """One value. `line`: number in the list of `docs/published.md`; `unit`: "" for a ratio."""

    line: str
    name: str
    value: float
    unit: str = ""


VALUES = (
    Published("P1.3", "shared memory per child", 700e6, "B"),
    Published("P1.3", "private memory per child", 375e6, "B"),
    Published("P1.4", "32 children", 13e9, "B"),
    Published("P1.4", "32 separate jobs", 34e9, "B"),
    Published("P1.4", "memory saved", 0.62),
    Published("P1.7", "utilization, high-pt QCD, N = max", 0.92),
    Published("P1.7", "utilization, tt̄, N = max", 0.92),
    Published("P1.7", "utilization, minimum bias, N = max", 0.85),
    Published("P1.8", "utilization, large events first, N = max", 0.38),
    Published("P1.8", "utilization, large events first, N = 1", 0.95),
    Published("P1.9", "read calls, N = max", 6.2, "/s"),
    Published("P1.9", "size of a read, N = max", 600e3, "B"),
    Published("P1.9", "read calls, N = 1", 156.0, "/s"),
    Published("P1.9", "size of a read, N = 1", 25e3, "B"),
    Published("P1.10", "read of the merged file, lumis scattered", 5900e6, "B"),
    Published("P1.10", "read of the merged file, lumis together", 750e6, "B"),
    Published("P1.10", "bytes read, scattered over together", 5900 / 750),
    Published("P1.12", "running modules at most, minimum bias", 26.0),
    Published("P1.12", "running modules on average, minimum bias", 2.64),
    Published("P1.12", "running modules at most, tt̄", 16.0),
    Published("P1.12", "running modules on average, tt̄", 2.62),
    Published("P1.12", "running modules at most, high-pt QCD", 20.0),
    Published("P1.12", "running modules on average, high-pt QCD", 2.19),
    Published("P2.1", "thread-unsafe over single-threaded", 0.95),
    Published("P2.1", "re-entrant over single-threaded, 16 events", 0.98),
    Published("P2.1", "re-entrant over single-threaded, fewer events than cores, at most", 1.30),
    Published("P2.2", "single-threaded, events at most", 800.0),
    Published("P2.2", "re-entrant but serial I/O, leaves the ideal at", 25.0, "events"),
    Published("P2.2", "re-entrant but serial I/O, flat from", 44.0, "events"),
    Published("P2.2", "fully re-entrant over single-threaded", 1.30),
    Published("P2.2", "memory of 2,000 events in flight", 1.1e9, "B"),
    Published("P2.2", "CPU of 2,000 events in flight, share", 1 / 8),
    Published("P2.4", "estimated speed-up", 1.29),
    Published("P2.4", "measured speed-up", 1.30),
    Published("P2.5", "busy over sleeping", 1.01),
    Published("P3.1", "single-threaded", 9.60, "s"),
    Published("P3.1", "slowest column", 6.44, "s"),
    Published("P3.1", "best possible", 6.68, "s"),
    Published("P3.2", "columns in parallel, waiting: speed-up", 1.17),
    Published("P3.2", "columns in parallel, waiting: share of the best", 0.81),
    Published("P3.3", "columns in parallel, queue: speed-up", 1.18),
    Published("P3.3", "columns in parallel, queue: share of the best", 0.82),
    Published("P3.4", "two files, even and odd: speed-up", 1.39),
    Published("P3.6", "shared cache without waiting: speed-up", 1.43),
    Published("P3.7", "share of unzipping", 0.298),
    Published("P3.7", "share of decoding", 0.662),
    Published("P3.7", "unzipped, two files over single-threaded", 5755 / 2843),
    Published("P3.7", "unzipped, shared cache over single-threaded", 5839 / 2843),
    Published("P3.8", "halves of the file: speed-up", 1.90),
    Published("P4.2", "10 events on 15 threads, of the maximum", 0.976),
    Published("P4.2", "10 events on 20 threads, of the maximum", 0.998),
    Published("P4.3", "TBB scales to", 2000.0, "events"),
    Published("P4.3", "libdispatch scales to", 1600.0, "events"),
    Published("P4.3", "single-threaded memory ends at", 3000.0, "events"),
    Published("P4.4", "empty modules, single-threaded", 1_460_000.0, "/s"),
    Published("P4.4", "empty modules, TBB", 375_000.0, "/s"),
    Published("P4.4", "empty modules, TBB over single-threaded", 375 / 1460),
    Published("P4.4", "empty modules, libdispatch", 3_600.0, "/s"),
    Published("P5.2", "full reconstruction of 5 s, estimated to scale to", 40.0, "cores"),
    Published("P5.4", "buffered better than locked from", 5.0, "cores"),
)
_BY_NAME = {(each.line, each.name): each for each in VALUES}


def published(line: str, name: str) -> Published:
    """Returns a published value. Raises KeyError if it is not in the list."""
    return _BY_NAME[line, name]
