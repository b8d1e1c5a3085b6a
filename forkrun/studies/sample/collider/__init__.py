"""Samples of a linear collider, e+e- → ZH and ZZ, as LCIO files."""
