"""Processes that read files from anywhere: given open files, refused all else, replaced where one fails."""
