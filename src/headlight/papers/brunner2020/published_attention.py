"""The numbers of Section 3 and Appendix A of *On Identifiability in Transformers*.

BERT-base (uncased), heads of 64 dimensions, the Wikipedia samples of Clark et al. of at most 128
tokens.  The figures are given without tables, so that little can be compared but what is said.
"""

HEAD_DIM = 64
"""d_v."""

LENGTH = 128
"""Tokens of the longest texts."""

SHORT_CORRELATION = 1.0
"""Of raw and effective attention, in texts of fewer tokens than d_v (Section 3.5)."""

EXAMPLE_LAYER = 4
"""Whose head Figure 6 shows, from 1."""
