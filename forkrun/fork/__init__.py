"""Forking: safety before it, signals and supervision after it, memory that stays shared."""
