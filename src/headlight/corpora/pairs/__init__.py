"""Sentences that are judged, alone or in pairs."""
