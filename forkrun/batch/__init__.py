"""One job over many nodes: each is a parent with a part of the plan, in its own run directory. The
nodes' ledgers record finished work; the batch system is asked only which jobs are alive."""
