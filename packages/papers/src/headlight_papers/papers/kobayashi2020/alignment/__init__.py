"""Section 5 and Appendix E: the words of translations linked by cross-attention."""
