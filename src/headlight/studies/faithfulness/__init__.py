"""What a classifier's answer loses with the words that a measure calls important."""
