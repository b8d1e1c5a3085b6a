"""What every room may use: names, text and sizes for people, durable files, user code."""
