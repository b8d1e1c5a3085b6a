"""Timing of modules: records of children, merged into tables and traces."""
