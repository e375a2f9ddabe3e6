"""Settings that several studies share: of models, measures, texts and classifiers."""

__all__ = [
    "classifiers",
    "measures",
    "models",
    "texts",
]
