"""*What Does BERT Look At? An Analysis of BERT's Attention* (Clark et al. 2019)."""
