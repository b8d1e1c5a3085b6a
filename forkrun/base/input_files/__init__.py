"""Names of input files: their form, and which of them name the same file."""
