"""Attention compared with gold annotations: heads as parsers and resolvers, and probes."""
