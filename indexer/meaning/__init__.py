"""What texts mean, as vectors: the encoder, the passages of a document, their file, and what is nearest to a query."""
