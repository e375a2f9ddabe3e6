"""Papers on attention, reproduced with Headlight, and the studies that serve one paper each."""
