"""Results of these studies in words."""
