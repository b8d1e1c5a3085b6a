"""Report of a run: one model, `summary`, and its presentations: `text`, `brief`, `notebook`,
`plots`. `write` puts them into the run directory."""
