"""Evenness of the event shares of real children, for each distribution."""
