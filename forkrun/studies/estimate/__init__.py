"""Limits from a job's times and dependencies: parallelism, critical path, speed-up."""
