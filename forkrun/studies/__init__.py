"""Studies: they use the runner and are not used by it."""
