"""Section 4 and Appendix B: input tokens found again from hidden ones."""
