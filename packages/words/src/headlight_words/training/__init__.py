"""Training of many models, in one process or several, and the store that keeps them."""
