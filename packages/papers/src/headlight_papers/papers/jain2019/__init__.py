"""*Attention is not Explanation* (Jain and Wallace 2019)."""
