"""From modules and configuration to the core's compiled schedule."""
