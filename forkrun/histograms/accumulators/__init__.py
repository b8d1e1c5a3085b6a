"""Accumulators of analyzers: totals independent of the order of events, and their files."""
