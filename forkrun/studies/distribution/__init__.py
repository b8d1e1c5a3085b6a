"""How evenly real children share the events of a job, for each distribution."""
