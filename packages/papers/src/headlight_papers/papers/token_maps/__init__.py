"""What papers on maps of tokens share: the study that sets them beside each other, and tables."""
