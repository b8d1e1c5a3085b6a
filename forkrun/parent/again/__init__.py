"""Running again: the unchanged results, and a job that makes the others."""
