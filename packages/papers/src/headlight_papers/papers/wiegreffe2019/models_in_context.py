"""Models of every set and encoder that reads words in context."""

from collections.abc import Iterator

import pandas

from headlight_papers.papers.wiegreffe2019.results import IN_CONTEXT
from headlight_papers.training.text_encoders import Encoder


def models_in_context(rows: pandas.DataFrame) -> Iterator[tuple[str, Encoder, pandas.DataFrame]]:
    """Yield the models of every set and encoder that reads words in context."""
    for title in rows.set.unique():
        for encoder in IN_CONTEXT:
            yield title, encoder, rows[(rows.set == title) & (rows.encoder == encoder)]
