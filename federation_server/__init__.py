"""The federation server: never sees a document, a query or a click."""
