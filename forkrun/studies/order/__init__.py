"""Cost of a file's event order for readers that go lumi by lumi."""
