"""*DecompX: Explaining Transformers Decisions by Propagating Token Decomposition*."""
