"""Classifiers in studies: the plan, scores, the effect of removing words and heads."""
