"""The learning core: vectors only, no files, no network, no screen."""
