"""Names of input files: what they may say, and which of them name one file."""
