"""From a query tree to the best documents and their features."""
