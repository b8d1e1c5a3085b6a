"""Running again: which results are as they were, and a job that makes the others."""
