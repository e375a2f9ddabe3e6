"""Names of the files and folders of a run that several processes share."""

import re

SHARED = ".shared"
"""Empty file in the folder of a run that workers share, from before its plan to its end."""
PLAN = "plan.json"
BLOCKS = "blocks"
CLAIMS = "claims"
COUNTS = "counts"
ROWS = "rows"
"""Folder of the rows of texts, with a file for each shard."""
ROWS_OF_TEXTS = "rows_of_texts"
"""Name of the member of a tally that goes to such a file, since it grows with the corpus."""
MERGE = "merge"
"""Name of the claim of the process that merges the blocks."""
PASS = ".pass"
"""Mark in a folder within that of a run: it is a pass of this run, and no run of its own."""

BLOCK_FILE = re.compile(rf"\d{{9}}-[0-9a-f]{{16}}\.(safetensors|json)|{MERGE}\.json")
"""Names of the files in the folders of blocks, claims and counts."""
