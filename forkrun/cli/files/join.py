"""`forkrun join`: the columns of a friend, written into the file."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from forkrun.base.durable import require_folder
from forkrun.base.quantities import plural
from forkrun.cli.arguments import add_option, add_options, add_quiet, print_json
from forkrun.errors import ConfigError, OutputError

DESCRIPTION = (
    "Write the events of A with all its columns and those of B to OUT.root, in the order of A:"
    " entry by entry, or with --by as run, lumi and event find them. Whole clusters of A are"
    " copied. A and B are trees or RNTuples."
)
_OPTIONS = {
    "--tree TREE = Events": "tree of A",
    "--with TREE": "tree of B (default: that of A)",
    "--by BRANCHES": "integer branches that both have: run,luminosityBlock,event; NAME=NAME where"
    " B has another name",
    "--prefix TEXT": "text before the names of B's columns",
    "--missing {error,drop,fill}": "events of A without a partner, with --by: an error, left out,"
    " or filled with 0 and empty lists",
    "--format {ttree,rntuple}": "format of OUT.root (default: that of A)",
    "--force": "replace an existing OUT.root",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.usage = "forkrun join A.root B.root -o OUT.root [options]"
    parser.add_argument("file", metavar="A.root")
    parser.add_argument("friend", metavar="B.root")
    add_option(parser, "-o, --output OUT.root", "the joined file", type=Path, required=True)
    add_options(parser, _OPTIONS)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Joins two files by a job that keeps all of both."""
    from forkrun.parent.job import run_job

    output = options.output.absolute()
    if output.exists() and not options.force:
        raise OutputError(f"{options.output}: this file exists; replace it with --force")
    require_folder(options.output)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as scratch:
        result = run_job(_job(options), Path(scratch, "run"), quiet=True, plots=False)
        n_events = result.report["events"]["outputs"][0]["n_events_merged"]
        os.replace(result.files[0], output)
    if options.json:
        print_json({"file": options.output, "entries": n_events})
    elif not options.quiet:
        print(f"{options.output}: {plural(n_events, 'event')}")
    return 0


def _job(options: argparse.Namespace) -> Any:
    """The configuration, whose output names the columns of the friend."""
    from forkrun.config.read import validate
    from forkrun.formats.column_types import flat_names
    from forkrun.schedule.input_columns import columns_of_input

    friend: dict[str, Any] = {"tree": options.__dict__["with"] or "", "files": [options.friend]}
    friend |= {"prefix": options.prefix or "", "by": _keys(options.by)}
    if options.missing:
        friend["missing"] = {"fill": {"*": 0}} if options.missing == "fill" else options.missing
    source = {"files": [options.file], "tree": options.tree, "friends": [friend]}
    output = {"label": "joined", "format": options.format or ""}
    raw = {"job": {"name": "join"}, "source": source, "outputs": [output]}
    columns = columns_of_input(validate(raw, "forkrun join"))
    new = {c.name: (c.type, "") for c in columns if c.held_by.startswith("friend ")}
    output["keep"] = ["*", *(name for name in new if name not in flat_names(new))]
    return validate(raw, "forkrun join")


def _keys(words: str | None) -> dict[str, str]:
    keys = {}
    for word in filter(None, (words or "").split(",")):
        own, _, other = word.partition("=")
        if not own:
            raise ConfigError(f'join: --by: "{word}" names no branch of A')
        keys[own] = other or own
    return keys
