"""The change of a classifier's predictions without the words that a measure calls important."""
