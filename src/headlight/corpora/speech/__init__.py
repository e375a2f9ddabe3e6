"""Recordings of speech with what is said in them."""
