"""Screens over the search screen: questions, lists and help that are seldom seen."""
