"""Replay files: modules with times and dependencies, in the public toy framework's format."""
