"""Where the vectors of tokens come from, by several ways of following input tokens."""
