"""Measurements of a run in formats of other programs. One file per format: a function from records
to bytes. Nothing is written into the run directory, so running jobs can be exported."""
