"""Which child processes which events: a pure function of the index and the settings."""
