"""Settings that studies share: model, measures, texts, words, treebanks and classifiers."""

__all__ = [
    "attention_rows",
    "classifiers",
    "measures",
    "models",
    "query_blocks",
    "texts",
    "treebanks",
    "words",
]
