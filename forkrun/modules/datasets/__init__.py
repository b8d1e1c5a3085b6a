"""Datasets: what modules know of them, the weight of their events, histograms kept apart."""
