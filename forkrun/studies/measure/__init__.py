"""Memory sharing: children against separate processes, and memory of children that became
private."""
