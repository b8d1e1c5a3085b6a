"""Sizes for people, in the unit of the field's studies."""

from __future__ import annotations


def megabytes(n_bytes: float) -> str:
    """`700.0 MB`, of 1e6 bytes; three decimals below 10."""
    value = n_bytes / 1e6
    return f"{value:,.{3 if abs(value) < 10 else 1}f} MB"
