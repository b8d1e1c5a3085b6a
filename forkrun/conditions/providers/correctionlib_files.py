"""correctionlib's files, .json or .json.gz."""

from __future__ import annotations

from typing import Any

from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


class CorrectionlibProvider(ConditionsProvider):
    """A correctionlib.CorrectionSet."""

    requires = "correctionlib"
    depends_on_iov = False

    def load(self, file: str | None, iov: Iov) -> Any:
        import correctionlib

        return correctionlib.CorrectionSet.from_file(str(file))
