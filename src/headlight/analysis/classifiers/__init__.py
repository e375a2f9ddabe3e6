"""What studies of classifiers share: the plan, scores, the effect of removing words and heads."""
