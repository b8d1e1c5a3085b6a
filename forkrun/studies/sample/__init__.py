"""NanoAOD-like samples of any size, for trials without a network."""
