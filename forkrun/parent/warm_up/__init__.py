"""A job in miniature, done in the parent before it forks."""

from forkrun.parent.warm_up.job import rehearse

__all__ = ["rehearse"]
