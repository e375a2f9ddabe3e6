"""The tables and figures of papers, computed on any model beside the published numbers."""
