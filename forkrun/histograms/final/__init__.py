"""Products from histograms of a finished job: plots, and templates for fits. Only `plot` loads
matplotlib."""
