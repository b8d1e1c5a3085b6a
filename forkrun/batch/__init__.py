"""One job over many nodes: each is a parent with a part of the plan, in a run directory of its own.
What is done is in the nodes' ledgers; a batch system is asked only who lives."""
