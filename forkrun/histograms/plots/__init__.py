"""Final plots of the histograms of a job. Only `plot` loads matplotlib."""
