"""Speed of filling histograms: by threads, and in columns from Python."""
