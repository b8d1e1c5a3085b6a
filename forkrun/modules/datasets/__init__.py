"""Datasets as modules see them, and the weight of their events."""
