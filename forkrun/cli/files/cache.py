"""`forkrun cache`: bytes of remote files that are kept on this machine."""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path

from forkrun import _core
from forkrun.base.quantities import date, plural, size
from forkrun.cli.arguments import add_json, add_option, print_json
from forkrun.config.remote import remote_cache_folder, use_remote_cache
from forkrun.errors import ConfigError, InputError, OutputError
from forkrun.monitoring.tables import Column, Table

DESCRIPTION = (
    "Show, clear or fill the cache of remote input: bytes of files on servers that jobs have read,"
    " which later jobs on this machine need not read again. Clearing it harms no running job."
)
_ACTIONS = ("show", "clear", "fill")
_COLUMNS = (
    Column("name", "file"), Column("n_bytes", "size", "size"),
    Column("n_kept_bytes", "kept", "size"), Column("last_used", "last used"),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="show")
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="URLs to read as a whole, for fill"
    )
    add_option(parser, "--folder DIR", "folder that source.cache names (default: the user's own)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Does one of the three."""
    folder = options.folder or remote_cache_folder()
    if folder is None:
        raise ConfigError("cache: FORKRUN_CACHE=0 keeps nothing; name a folder by --folder")
    if bool(options.files) != (options.action == "fill"):
        raise ConfigError("cache: fill needs FILES; show and clear take none")
    if options.action == "fill":
        return _fill(options, folder)
    if options.action == "clear":
        return _clear(options, folder)
    return _show(options, folder)


def _show(options: argparse.Namespace, folder: Path) -> int:
    found = sorted(_core.cached_files(str(folder)), key=lambda file: -file[-1])
    rows = [
        {"name": name or _other_name(path), "n_bytes": n_bytes, "n_kept_bytes": n_kept,
         "last_used": date(used_ns / 1e9)}
        for path, name, n_bytes, n_kept, used_ns in found
    ]  # fmt: skip
    n_kept_bytes = sum(n_kept for _, _, _, n_kept, _ in found)
    if options.json:
        print_json({"folder": folder, "n_kept_bytes": n_kept_bytes, "files": rows})
        return 0
    if rows:
        print(Table("", _COLUMNS, rows).text(indent=""))
    print(f"{folder}: {size(n_kept_bytes)} of {plural(len(rows), 'file')}")
    return 0


def _other_name(path: str) -> str:
    is_decoded = os.path.basename(path).startswith("decoded-")
    return "decoded blocks" if is_decoded else f"{path} (damaged)"


def _clear(options: argparse.Namespace, folder: Path) -> int:
    n_bytes, failed = 0, []
    for path, _, _, n_kept_bytes, _ in _core.cached_files(str(folder)):
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
                n_bytes += n_kept_bytes
                os.unlink(path.removesuffix(".bytes") + ".records")
        except OSError as error:
            failed.append(f"{path}: cannot be removed: {error.strerror}")
    if failed:
        raise OutputError("\n".join(failed))
    if options.json:
        print_json({"folder": folder, "n_removed_bytes": n_bytes})
    else:
        print(f"{folder}: {size(n_bytes)} removed")
    return 0


def _fill(options: argparse.Namespace, folder: Path) -> int:
    from forkrun.config.source import SourceConfig
    from forkrun.index.files import input_files
    from forkrun.index.read import ask_workers

    files = input_files(SourceConfig(files=tuple(options.files)))
    use_remote_cache(files, str(folder) if options.folder else "on")
    answers = [(request["path"], answer) for request, answer in ask_workers(
        [{"path": file, "fill": True} for file in files])]  # fmt: skip
    read, known = (sum(a["filled"][i] for _, a in answers if "filled" in a) for i in (0, 1))
    if options.json:
        print_json({"folder": folder, "read_bytes": read, "cached_bytes": known})
    else:
        print(f"{folder}: {size(read)} read, {size(known)} were there")
    if failed := [a["error"] for _, a in answers if "error" in a]:
        raise InputError("\n".join(failed))
    return 0
