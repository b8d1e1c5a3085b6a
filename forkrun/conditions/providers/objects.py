"""JSON, TOML and pickle files."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

from forkrun.base.user_text import unique_keys
from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


class JsonProvider(ConditionsProvider):
    """Contents of the file."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> Any:
        text = Path(str(file)).read_text(encoding="utf-8")
        return json.loads(text, object_pairs_hook=unique_keys)


class TomlProvider(ConditionsProvider):
    """Contents of the file."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> dict[str, Any]:
        return tomllib.loads(Path(str(file)).read_text(encoding="utf-8"))


class PickleProvider(ConditionsProvider):
    """A Python object."""

    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> Any:
        return pickle.loads(Path(str(file)).read_bytes())
