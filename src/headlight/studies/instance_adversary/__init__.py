"""How different attention can be, text by text, while a classifier's answer stays what it is."""
