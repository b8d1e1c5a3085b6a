"""Batch systems, including this machine, which start the parents of nodes."""
