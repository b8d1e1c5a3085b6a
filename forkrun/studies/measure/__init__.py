"""How well memory is shared: children against separate processes, and which memory of children
became private."""
