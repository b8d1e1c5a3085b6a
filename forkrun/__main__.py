"""`python -m forkrun` is the `forkrun` command."""

import sys

from forkrun.cli import main

sys.exit(main())
