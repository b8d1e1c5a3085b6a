"""Functions and values that a job gets from the Python program that runs it."""
