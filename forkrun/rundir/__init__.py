"""The run directory: one owner of its names, lock, ledger, fingerprint, resume and accounting."""
