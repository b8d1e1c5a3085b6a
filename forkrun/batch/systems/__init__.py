"""What starts the parents of nodes: this machine, or a batch system."""
