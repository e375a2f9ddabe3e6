"""*GlobEnc* (Modarressi et al. 2022)."""
