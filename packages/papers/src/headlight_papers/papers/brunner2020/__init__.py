"""*On Identifiability in Transformers* (Brunner et al. 2020)."""
