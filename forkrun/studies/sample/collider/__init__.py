"""Samples of a linear collider, e+e- → ZH and ZZ, as LCIO files."""

from forkrun.studies.sample.collider.write import write_collider_sample

__all__ = ["write_collider_sample"]
