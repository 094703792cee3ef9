"""Several devices of one person as one: what each learned, the others know, through any folder that is synchronised."""
