"""What lies on disk: segments, the table of contents that joins them, and the catalogue of files."""
