"""*Attention is not not Explanation* (Wiegreffe and Pinter 2019)."""
