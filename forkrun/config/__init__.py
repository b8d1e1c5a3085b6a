"""The job's description: one validated, frozen value."""
