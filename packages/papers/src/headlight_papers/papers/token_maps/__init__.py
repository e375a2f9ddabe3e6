"""Study and tables that papers on maps of tokens share."""
