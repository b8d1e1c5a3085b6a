"""What scheduling costs, and how much of a job's parallelism threads find."""
