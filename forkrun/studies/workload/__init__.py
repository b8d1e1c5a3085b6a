"""Synthetic replay files with the statistics of real ones."""
