"""The report of a run: one model, `summary`, and its faces: `text`, `brief`, `notebook`, `plots`.
`write` puts them into the run directory.
"""
