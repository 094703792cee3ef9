"""The commands of foltr-search, one file per group."""
