"""Names of the columns of event ids in files of known formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forkrun.config.choices import Duplicates, EventOrder
from forkrun.config.model import JobConfig
from forkrun.config.source import IdBranches
from forkrun.index.read import try_index

_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (16, 32, 64)}


class IdColumns(NamedTuple):
    """Columns of one integer per event, or of lists of one; "" if a format lacks it: then the run
    is 1, lumis are files, and events are numbered by entry."""

    run: str
    lumi: str
    event: str

    def are_in(self, types: Mapping[str, str]) -> bool:
        """Whether columns of these types, by name, include all of them."""
        return all(types.get(name, "").removesuffix("[]") in _INTEGERS for name in self if name)


def _of_event_info(name: str) -> IdColumns:
    return IdColumns(f"{name}.runNumber", f"{name}.lumiBlock", f"{name}.eventNumber")


_NANO = IdColumns("run", "luminosityBlock", "event")
KNOWN_IDS = {
    "NanoAOD, LCIO": _NANO,
    "PHYSLITE": _of_event_info("EventInfoAuxDyn"),
    "xAOD": _of_event_info("EventInfoAux"),
    "EDM4hep": IdColumns("EventHeader.runNumber", "", "EventHeader.eventNumber"),
    "Delphes": IdColumns("", "", "Event.Number"),
    "TreeMaker": IdColumns("RunNum", "LumiBlockNum", "EvtNum"),
    "ntuples of ATLAS": IdColumns("runNumber", "lumiBlock", "eventNumber"),
    "ntuples of CMS": IdColumns("run", "lumi", "event"),
    "ntuples of LHCb": IdColumns("runNumber", "", "eventNumber"),
    "ntuples of LHCb, upgrade": IdColumns("RUNNUMBER", "", "EVENTNUMBER"),
    "ntuples of Belle II": IdColumns("__run__", "", "__event__"),
    "files without ids": IdColumns("", "", ""),
}  # fmt: skip
"""In order of preference: the first whose columns a file has."""
_NONE = "files without ids"


def with_known_ids(config: JobConfig, files: Sequence[str]) -> JobConfig | None:
    """Configuration with the id columns of the first readable file. None if the configuration names
    some itself, if the file has NanoAOD's or only some of these, or if it has none and the job
    needs ids."""
    source = config.source
    if source.ids[1:] != _NANO:
        return None
    for file in files:
        index, problems = try_index([file], IdBranches(source.tree, "", "", ""))
        if not problems and not index[0].absent:
            break
    else:
        return None
    types = {branch.name: branch.type for branch in index[0].all_branches}
    name = next(name for name, ids in KNOWN_IDS.items() if ids.are_in(types))
    if name == _NONE and (types.keys() & {*_NANO} or _needs_ids(config)):
        return None
    return None if KNOWN_IDS[name] == _NANO else _with_ids(config, KNOWN_IDS[name])


def without_ids(config: JobConfig) -> JobConfig:
    """Configuration for files whose events have no ids."""
    return _with_ids(config, KNOWN_IDS[_NONE])


def with_ids_of(given: JobConfig, planned: JobConfig) -> JobConfig:
    """`given` with the id columns found when the same job was planned."""
    if given.source.ids[1:] != _NANO:
        return given
    return _with_ids(given, IdColumns(*planned.source.ids[1:]))


def _with_ids(config: JobConfig, ids: IdColumns) -> JobConfig:
    names = {"run_branch": ids.run, "lumi_branch": ids.lumi, "event_branch": ids.event}
    return config.replaced({"source": config.source.replaced(names)})


def _needs_ids(config: JobConfig) -> bool:
    source = config.source
    return bool(
        source.lumi_mask
        or source.runs
        or source.only
        or source.order in (EventOrder.LUMI, EventOrder.SORTED)
        or source.duplicates in (Duplicates.ERROR, Duplicates.DROP)
    )
