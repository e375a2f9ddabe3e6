"""Small classifiers of texts with one attention, and what they learn: of two papers."""
