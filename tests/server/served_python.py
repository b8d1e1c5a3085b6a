"""Python for tests, in the place of `sys.executable`: the server of commands runs a program, or a
module of forkrun, in a fork whose exit code and signals are those of this process. That starts in
a tenth of the time that Python takes with what the program imports.

It runs without `site` and imports built-in modules alone. What a fork cannot do (other options,
variables that Python or the linker read) is done by a Python of its own."""

from __future__ import annotations

import _socket
import marshal
import os
import signal
import sys
from array import array

FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_LONGEST = 1 << 16


def write_program(path: str, address: str, python: str, environment: dict[str, str]) -> None:
    """An executable file that does this."""
    folder = os.path.dirname(os.path.abspath(__file__))
    given = (address, python, [item for item in environment.items() if is_special(item[0])])
    with open(path, "w") as file:
        file.write(
            f"#!{python} -IS\nimport sys\nsys.path.insert(0, {folder!r})\n"
            f"from served_python import main\nmain(*{given!r})\n"
        )
    os.chmod(path, 0o755)


def is_special(name: str) -> bool:
    """Whether Python or the linker reads this variable when a process starts."""
    return name.startswith(("PYTHON", "LD_"))


def main(address: str, python: str, special: list[tuple[str, str]]) -> None:
    words = sys.argv[1:]
    words = words[words[:1] == ["-P"] :]  # the server looks for modules in the folder, all the same
    if not (_is_served_with(dict(special)) and _can_be_served(words)):
        os.execv(python, [python, *sys.argv[1:]])
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    numbers = _open_descriptors(connection.fileno())
    connection.connect(address)
    request = marshal.dumps((words, os.getcwd(), dict(os.environ), None, numbers, True))
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", numbers))
    for number in FORWARDED:
        signal.signal(number, lambda number, _: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    connection.sendmsg([request], [rights])
    pid = int(connection.recv(_LONGEST))
    for number in FORWARDED:
        signal.signal(number, lambda number, _: os.kill(pid, number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    code = int(connection.recv(_LONGEST))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _is_served_with(special: dict[str, str]) -> bool:
    """Whether these variables of the server are those of this process, which may have folders for
    modules of its own beside the server's."""
    now = {name: value for name, value in os.environ.items() if is_special(name)}
    theirs, own = (set(each.pop("PYTHONPATH", "").split(":")) for each in (special, now))
    return special == now and theirs <= own


def _can_be_served(words: list[str]) -> bool:
    is_module = words[:1] == ["-m"] and words[1:2] and words[1].startswith("forkrun")
    return bool(is_module or (words and words[0].endswith(".py")))


def _open_descriptors(own: int) -> list[int]:
    """Those that a program which is started inherits."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) != own and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:  # that of the listing
            continue
    return found
