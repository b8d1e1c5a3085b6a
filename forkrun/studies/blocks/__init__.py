"""Whether results of modules depend on the size of blocks: the same events, in several layouts."""

from forkrun.studies.blocks.check import Checked, check_blocks
from forkrun.studies.blocks.compare import Difference
from forkrun.studies.blocks.report import describe

__all__ = ["Checked", "Difference", "check_blocks", "describe"]
