"""Collections of objects: which columns belong together, records made of them, Lorentz vectors."""
