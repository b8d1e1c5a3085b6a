"""Common to all rooms: names, text and sizes for people, durable files, user code."""
