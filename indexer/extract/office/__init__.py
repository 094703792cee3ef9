"""Files of office programs, PDFs and e-books, with what they share."""
