"""Commands that look at files of input."""
