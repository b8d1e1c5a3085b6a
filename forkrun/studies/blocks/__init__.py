"""Whether results of modules depend on the size of blocks: the same events, in several layouts."""
