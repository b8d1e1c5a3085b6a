"""Commands that show what was measured of runs."""
