"""How far measures agree on which words of a text matter."""
