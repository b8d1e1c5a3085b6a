"""Checks whether modules' results depend on block size: the same events, in several layouts."""
