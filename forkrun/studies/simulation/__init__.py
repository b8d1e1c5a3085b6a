"""How long children would take with each distribution: the planner's own units, with event costs
that were measured or drawn, handed out as a job does it."""
