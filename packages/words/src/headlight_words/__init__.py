"""Annotated and parallel text: word alignment, dependency, coreference, probes that parse."""
