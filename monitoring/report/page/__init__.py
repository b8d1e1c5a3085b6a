"""`report.html`: one file that needs no network. Python gives the values (`content`), the page's
own script draws them: tables sort, charts zoom, and nothing is loaded but the file.
"""
