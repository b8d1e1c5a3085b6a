"""Histograms that modules book: their axes, and fills whose sums are exact."""
