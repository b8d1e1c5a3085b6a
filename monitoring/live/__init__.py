"""Current state of a running job, from its run directory alone: here, on another machine, on many
nodes. Each look reads only the newly written data."""
