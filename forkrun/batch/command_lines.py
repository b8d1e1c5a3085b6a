"""Commands of users with places for names of files: `xrdcp {source} {target}`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """Environment variables for the placeholders of a command: each value, plain and quoted for a
    shell."""
    plain = {_variable(name): value for name, value in values.items()}
    return {**plain, **{f"{name}_QUOTED": shlex.quote(value) for name, value in plain.items()}}


def filled(command: str, values: Mapping[str, str]) -> str:
    """The command as a user would type it, for messages: all placeholders filled, quoted."""
    return _places(values).sub(lambda place: shlex.quote(values[place[1]]), command)


def with_variables(command: str, names: Iterable[str]) -> str:
    """The command with variables for all placeholders, so that no value becomes code. Within
    quotes, where another shell may read it again (`ssh host 'cp {source} …'`), the quoted value is
    used."""
    pieces = _places(names).split(command)
    line, quotes = pieces[0], Quotes()
    quotes.read(line)
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        line += quotes.around(_variable(name)) + text
        quotes.read(text)
    return line


def _variable(name: str) -> str:
    return f"FORKRUN_{name.upper()}"


def _places(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\{(" + "|".join(map(re.escape, names)) + r")\}")


class Quotes:
    """The quotes of bash that are open. `$(…)` within quotes begins without any."""

    def __init__(self) -> None:
        self._open = [""]

    def around(self, variable: str) -> str:
        """The variable as one word, or as a part of the quoted text."""
        if not self._open[-1]:
            return f'"${{{variable}}}"'
        quoted = f"${{{variable}_QUOTED}}"
        return quoted if self._open[-1] == '"' else f"'\"{quoted}\"'"

    def read(self, text: str) -> None:
        """Reads the next part of the text."""
        for token in re.findall(r"\\.|\$\(|[\"'()]", text, re.DOTALL):
            self._take(token)

    def _take(self, token: str) -> None:
        now = self._open[-1]
        if now == "'":
            if token.endswith("'"):
                self._open[-1] = ""
        elif token == "$(" or (token == "(" and not now):
            self._open.append("")
        elif token == ")" and not now and len(self._open) > 1:
            self._open.pop()
        elif token == '"':
            self._open[-1] = "" if now else token
        elif token == "'" and not now:
            self._open[-1] = token
