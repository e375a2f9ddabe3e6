"""Section 3 and Appendix A: attention that its output does not determine."""
