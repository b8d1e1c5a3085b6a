"""Growth of a job's rate with children and threads, and its limits."""
