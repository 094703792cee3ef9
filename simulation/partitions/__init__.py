"""Who holds what: the training queries of a fold as the shares of its clients."""
