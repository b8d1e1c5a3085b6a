"""Growth of a job's cost with the number of its parts."""
