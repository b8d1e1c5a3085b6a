"""What was measured of a run in formats that others read. One file per format: a function from
records to bytes. Nothing is written into the run directory, so a running job can be looked at.
"""
