"""What children really read, by how events are shared among them."""
