"""What is made of the histograms of a finished job: plots, and templates of fits. Only `plot` loads
matplotlib."""
