"""The page of published figures, `make published`: `steps.py` are the commands that measure,
`lines.py` says what was published and what of the results is ours, `page.py` writes the page."""
