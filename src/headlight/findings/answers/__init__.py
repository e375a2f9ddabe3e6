"""Findings of studies: what their numbers answer, in a sentence or a few.

The page of a study has one of these functions as ``findings``. They stand first on every page, in
the terminal and in JSON. Where a number has an interval, it is called different from another only
if its interval leaves that out (`headlight.findings.rules`).
"""
