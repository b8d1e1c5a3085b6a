"""The `forkrun` command: one file per subcommand. `main` prints, `main_inner` raises."""

from __future__ import annotations

import atexit
import contextlib
import errno
import faulthandler
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import NoReturn

from forkrun.base.received import STATE
from forkrun.base.refusals import refusal
from forkrun.base.streams import use_lasting_streams
from forkrun.base.user_text import printable, text_problem
from forkrun.cli.program import is_program, split_at_dashes, take_job
from forkrun.errors import ConfigError, ForkrunError, OutputError
from forkrun.fork.command import leave_error
from forkrun.fork.single_thread import limit_library_threads
from forkrun.fork.starting import need_of_root, starting

_WRONG_PLACES = (errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM)
_TELLING = (
    "status", "logs", "plan", "top", "report", "compare", "export", "manual", "completion",
    "estimate", "replay",
)  # fmt: skip
_OF_DAMAGE = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError)
"""Errors that a damaged record may lead to."""
_LONGEST = 2000
"""Characters of a line of an error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and gives the exit code of the process (docs/architecture.md lists them)."""
    try:
        return main_inner(sys.argv[1:] if arguments is None else arguments)
    except ForkrunError as error:
        _report(error)
        if reason := _gone() or _damaged(error.__cause__):
            print(f"  {reason}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("forkrun: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            _report(ConfigError(f"{error.filename}: {error.strerror}"))
            return ConfigError.exit_code
        if refused := refusal(error) or _wrong_place(error) or _gone() or _damaged(error):
            _report(refused)
            return refused.exit_code
        traceback.print_exc()
        print("forkrun: this is an internal error; please report it", file=sys.stderr)
        return 1


def main_inner(arguments: Sequence[str]) -> int:
    """Runs a command. Raises ForkrunError for users' errors."""
    limit_library_threads()
    arguments = list(arguments)
    if STATE in os.environ:
        from forkrun.modules.program.state import receive_state  # for programs in Python alone

        receive_state()
    problems = [f"an argument: {what}" for text in arguments if (what := text_problem(text))]
    if problems:
        raise ConfigError(problems)
    own, of_program = split_at_dashes(arguments)
    with starting(need_of_root(own)):
        from forkrun.cli.parser import parse_arguments  # imports NumPy

        options = parse_arguments(own)
    if is_program(options):
        options = parse_arguments(take_job(options, own, of_program))
    code: int = options.run(options)
    sys.stdout.flush()
    return code


def command() -> NoReturn:
    """The process of a command. It ends at once: libraries would take 50 ms to tidy up what the
    kernel frees anyway."""
    use_lasting_streams(output_counts=_only_tells(sys.argv[1:]))
    faulthandler.enable()  # a job without children may crash here
    try:
        code = main()
    except SystemExit as ended:  # of --help, and where nobody reads any more what a command tells
        if not isinstance(ended.code, int):
            raise
        code = ended.code
    if threading.active_count() > 1:  # of a module's own: Python waits for them
        sys.exit(code)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, SystemExit):
            stream.flush()
    os._exit(code)


def _only_tells(arguments: Sequence[str]) -> bool:
    """Whether the command exists for its output: others end the same without a reader."""
    return not arguments or arguments[0].startswith("-") or arguments[0] in _TELLING


def _wrong_place(error: Exception) -> ForkrunError | None:
    """The error of a file where a folder should be, the other way round, or of another's."""
    if isinstance(error, OSError) and error.errno in _WRONG_PLACES and error.filename:
        return OutputError(f"{error.filename}: cannot be used: {error.strerror}")
    return None


def _gone() -> ForkrunError | None:
    """The error of a working directory that somebody has removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        what = "the current directory has been removed: change to another one, and try again"
        return OutputError(what)
    return None


def _damaged(error: BaseException | None) -> ForkrunError | None:
    """The error of a record of a run that is damaged, if that explains this one."""
    if not isinstance(error, _OF_DAMAGE):
        return None
    from forkrun.cli.reports.damaged import damaged_record

    return damaged_record()


def _cut(line: str) -> str:
    """Shortens a line of thousands of characters, such as a nonsensical path."""
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"


def _report(error: ForkrunError) -> None:
    """Prints the error: one line for one problem, a list for several. A program in Python that
    has started this process raises it instead."""
    if leave_error(error):
        return
    problems = error.problems if isinstance(error, ConfigError) else [str(error)]
    if len(problems) > 1:
        problems = [f"{len(problems)} problems in the configuration:", *problems]
    lines = [printable(_cut(line)) for line in "\n".join(problems).splitlines()]
    print("forkrun: " + "\n  ".join(lines), file=sys.stderr)
