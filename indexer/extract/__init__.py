"""Text out of files: one extractor per format, run in bounded worker processes.

`kinds.extract_file` reads one file, `indexer.confined.pool` runs a reader over many.
"""
