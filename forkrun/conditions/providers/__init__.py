"""Providers of payloads of conditions: one file for each kind of source."""
