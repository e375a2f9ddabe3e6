"""The effect of permuted, uniform or concentrated attention on a classifier's predictions."""
