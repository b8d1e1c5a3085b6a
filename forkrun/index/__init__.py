"""Contents of the input files: entries, lumis, clusters and branches, read outside the parent."""
