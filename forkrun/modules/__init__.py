"""Modules in Python: the classes that users derive from, how they are loaded, random numbers."""
