"""Books and papers that are laid out in pages, one file a format."""
