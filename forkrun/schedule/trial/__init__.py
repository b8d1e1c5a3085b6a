"""Tries modules with the first events of a job, to find out what they read and make."""
