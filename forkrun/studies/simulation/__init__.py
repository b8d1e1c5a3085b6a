"""Simulation of the children's times with each distribution: the planner's own units, with measured
or random event costs, handed out like in a job."""
