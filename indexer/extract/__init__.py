"""Text out of files: one extractor per format, run in bounded worker processes."""
