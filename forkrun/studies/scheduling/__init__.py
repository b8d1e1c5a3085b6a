"""Cost of scheduling, and share of a job's parallelism found by threads."""
