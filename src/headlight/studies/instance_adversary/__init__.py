"""How different attention can be, text by text, while a classifier's prediction stays."""
