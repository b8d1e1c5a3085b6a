"""Columns of a file: the cost of reading each, and the gain from several threads."""
