"""Text out of files: one extractor per format, run in bounded worker processes.

`registry.extract_file` reads one file, `pool` runs a reader over many.
"""
