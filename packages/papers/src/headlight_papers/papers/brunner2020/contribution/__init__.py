"""Section 5 and Appendix C: what input tokens contribute to hidden ones."""
