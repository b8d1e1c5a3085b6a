"""The JSON value in a file, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from forkrun.base.user_text import DoubleKeyError, unique_keys
from forkrun.errors import ConfigError

GZIP_MAGIC = b"\x1f\x8b"


def load_json(path: Path) -> Any:
    """Raises ConfigError if file not found or its contents are not whole, valid JSON."""
    text = _text(path, _bytes(path))
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise ConfigError(
                f"{path}: {place}: the JSON ends too early ({error.msg}): the file is truncated;"
                " fetch or write it again"
            ) from None
        raise ConfigError(f"{path}: {place}: not valid JSON: {error.msg}") from None
    except DoubleKeyError as error:
        raise ConfigError(f"{path}: {error}") from None
    except ValueError:  # Python reads no number of more than 4300 digits
        raise ConfigError(f"{path}: holds a number that is too long to be read") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply to be a replay file") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: replay file not found") from None
    except IsADirectoryError:
        raise ConfigError(
            f"{path}: this is a directory; give a replay file, plain JSON or compressed with gzip"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the replay file: {error.strerror}") from None


def _text(path: Path, data: bytes) -> str:
    try:
        return (gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data).decode("utf-8")
    except EOFError:
        raise ConfigError(
            f"{path}: the gzip data ends too early: the file is truncated; fetch or write it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ConfigError(f"{path}: the gzip data is damaged ({error}); fetch it again") from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"{path}: neither text nor gzip; a replay file is JSON, plain or compressed with gzip"
        ) from None
