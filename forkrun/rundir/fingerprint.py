"""Fingerprint of a job: everything its outputs depend on. A run is resumed only with the same
one."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from forkrun import _core
from forkrun.base.caller import option
from forkrun.base.input_files.urls import hide_secrets
from forkrun.base.regular_file import is_regular, read_regular
from forkrun.base.user_text import leaves
from forkrun.config.anchor import is_url
from forkrun.config.model import JobConfig
from forkrun.errors import InputError, OutputError
from forkrun.rundir.build import build_identity, release
from forkrun.rundir.shipped_code import shipped_digest

FREE = {"forking", "recovery", "limits", "threads", "merge", "monitoring", "prefetch", "batch"}
"""Sections that may change: the plan records the settings that matter."""
OF_PROGRAM = {"modules.code", "modules.values", "modules.place"}
"""Keys of a module filled by a running program: their content counts as code."""
_CACHE = ("cache", "cache_limit", "cache_decoded")
CHOICE = {
    "files", "list", "prefixes", *_CACHE, "duplicates", "lumi_mask", "runs",
    "max_events", "skip_events", "order", "datasets", "only",
}  # fmt: skip
"""Keys of [source] and [[datasets]] that select and locate events."""
BUILD = "build"
"""Key of the forkrun build. Another build of the same release resumes a run, with a note."""

Fingerprint = dict[str, Any]
"""JSON-ready: a digest, or digests by name, for each part."""


def fingerprint(
    config: JobConfig,
    input_digests: Mapping[str, str],
    units_digest: str,
    plugins: Sequence[str],
    payloads: Sequence[str] = (),
    *,
    may_grow: bool = False,
) -> Fingerprint:
    """Fingerprint of a job whose modules are loaded. `input_digests`: by path of the input file;
    `units_digest`: of the plan's units; `plugins`: paths of module libraries; `payloads`: files of
    conditions, also those named in index files; `may_grow`: files may be added to the input,
    unknown to a part of the job. Raises InputError for an unreadable file."""
    described = described_job(config, may_grow=may_grow)
    return {
        BUILD: build_identity(),
        "version": {"forkrun": release(), "ROOT": _core.root_version()},
        "configuration": {name: value_digest(part) for name, part in described.items()},
        "threads.block_size": config.threads.block_size,
        "input": dict(input_digests),
        "units of work": units_digest,
        "code": {str(path): _file_digest(path) for path in sorted(_code(config, plugins))}
        | {m.type.removeprefix("given:"): m.code for m in config.modules if m.code}
        | {name: digest for m in config.modules for name, digest in m.values.items()},
        "conditions": named_files([described.get("conditions", []), *payloads]),
    }


def described_job(config: JobConfig, *, may_grow: bool = False) -> dict[str, Any]:
    """The settings that outputs depend on, by section, without code, whose content counts, and
    locations of remote files. `may_grow`: without the input files."""
    described = config.as_json(FREE | OF_PROGRAM)
    source, datasets = described["source"], described["datasets"]
    for each in (source, *datasets):
        _leave_out_places(each)
    if may_grow:
        for each in (source, *source["friends"], *datasets):
            each["files"] = None
        source["list"] = None
    return described


def _leave_out_places(described: dict[str, Any]) -> None:
    """Removes the locations of remote files: the digests of the input cover their content."""
    for key in _CACHE:
        described.pop(key, None)
    if described.pop("prefixes", None):
        described["files"] = None
    elif described["files"]:
        described["files"] = [None if is_url(f) else f for f in described["files"]]


_FORM: Mapping[str, Any] = {
    "version": dict[str, str], "configuration": dict[str, str], "input": dict[str, Any],
    "units of work": str, "code": dict[str, str], "conditions": dict[str, str],
}  # fmt: skip
_MORE: Mapping[str, Any] = {"shipped": dict[str, str], "mended": list[dict[str, Any]]}


def read_fingerprint(path: Path) -> Fingerprint:
    """Fingerprint stored by a job; empty if missing. Raises OutputError if it is damaged."""
    if not is_regular(path):
        return {}
    try:
        found = msgspec.json.decode(read_regular(path), type=dict[str, Any])
        for part, form in {**_FORM, **{k: v for k, v in _MORE.items() if k in found}}.items():
            msgspec.convert(found[part], form)
    except (OSError, ValueError, LookupError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise OutputError(
            f"{path}: is damaged: {why}; choose another run directory with {option('-o')}, or"
            f" replace this one with {option('--force')}"
        ) from None
    return found


def value_digest(value: Any) -> str:
    """SHA-256 of a value as JSON; values that JSON lacks count by their text."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    if digest := shipped_digest(path):
        return digest
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _code(config: JobConfig, plugins: Sequence[str]) -> Iterator[Path]:
    """Libraries of C++ modules; files of Python modules, and all imports from their folders."""
    yield from (Path(plugin).resolve() for plugin in plugins if Path(plugin).exists())
    types = [*(m.type for m in config.modules), *(c.type for c in config.conditions)]
    folders = {
        str(_home(kind.split(":")[1]).parent) for kind in types if kind.startswith("python:")
    }
    programs = {Path(kind.split(":")[1]) for kind in types if kind.startswith("given:")}
    folders |= {str(program.parent) for program in programs if program.is_absolute()}
    is_elsewhere = functools.cache(functools.partial(_is_elsewhere, folders))
    for name in list(sys.modules):
        if name == "__main__" or is_elsewhere(name.partition(".")[0]):
            continue
        file = getattr(sys.modules[name], "__file__", None)
        if not file or not file.endswith(".py"):
            continue
        if _folder_of(file) in folders and Path(file).resolve() not in programs:
            yield Path(file).resolve()


def _is_elsewhere(folders: Collection[str], package: str) -> bool:
    """Whether a package has no module in any of the folders: saves a check of a thousand library
    modules."""
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None)
    if not file or len(getattr(module, "__path__", ())) > 1:
        return False
    place = _folder_of(file)
    return not any(f"{folder}/".startswith(f"{place}/") for folder in folders)


def _folder_of(file: str) -> str:
    """Folder of a file, with links resolved."""
    return _resolved(os.path.dirname(os.path.realpath(file) if os.path.islink(file) else file))


@functools.cache
def _resolved(folder: str) -> str:
    """Resolved path; cached, as a thousand modules share a hundred folders."""
    return os.path.realpath(folder)


def _home(name: str) -> Path:
    """Resolved path of the source. `name`: FILE.py or package.module, imported already."""
    return Path(name if name.endswith(".py") else str(sys.modules[name].__file__)).resolve()


def named_files(described: Any) -> dict[str, str]:
    """Digests of all local files named anywhere in a description, by name. Raises InputError."""
    names = dict.fromkeys(text for text in leaves(described) if isinstance(text, str))
    return {
        name: _file_digest(Path(name))
        for name in names
        if not is_url(name) and Path(name).is_file()
    }


def doubtful_conditions(described: Mapping[str, Any], payloads: Sequence[str]) -> list[str]:
    """Conditions whose values no digest covers: made by code, or on a server."""
    conditions = described["conditions"]
    made = [f"condition {c['label']} is made by code" for c in conditions if ":" in c["type"]]
    named = [*payloads, *leaves(conditions)]
    far = dict.fromkeys(text for text in named if isinstance(text, str) and is_url(text))
    return made + [f"a condition is read from {hide_secrets(text)}" for text in far]
