"""A job in miniature, done in the parent before it forks."""

from forkrun.rehearsal.job import rehearse

__all__ = ["rehearse"]
