"""Studies of annotated and parallel text, one package each, independent of one another."""
