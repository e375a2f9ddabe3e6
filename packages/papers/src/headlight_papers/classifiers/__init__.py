"""Studies of classifiers: predictions with other attention, scores, and kept files."""
