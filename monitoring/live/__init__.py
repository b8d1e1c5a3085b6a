"""A running job as it is now, from its run directory alone: here, on another machine, on many
nodes. Each look reads only what has been written since the one before.
"""
