"""Tries modules with the first events of a job, to find their reads and products."""
