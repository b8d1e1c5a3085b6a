"""What analyzers accumulate: totals of any order of events, and their files."""
