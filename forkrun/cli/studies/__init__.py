"""Commands that study a job, or make input and modules for studies."""
