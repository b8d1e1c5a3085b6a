"""`python -m forkrun` is the `forkrun` command."""

from forkrun.cli import command

command()
