"""Reads of children, for different distributions of events."""
