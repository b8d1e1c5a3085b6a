"""Runs commands for tests; away from modules of jobs, whose folders a fingerprint has."""
