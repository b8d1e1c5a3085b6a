"""Comparison of runs: rates, memory, modules, and whether outputs are the same."""
