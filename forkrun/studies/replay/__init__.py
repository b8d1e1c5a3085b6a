"""Replay files: modules with times and dependencies, in the form of the public toy framework."""
