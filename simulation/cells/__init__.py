"""From a preset to rows: what a study says, the cells that it makes, and one cell run."""
