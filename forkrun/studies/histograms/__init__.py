"""How fast histograms are filled: by threads, and in columns from Python."""
