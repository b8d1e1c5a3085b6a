"""Columns of a file: what each costs to read, and how far several threads read them."""
