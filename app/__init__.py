"""The device: joins the indexer and the learning core, and keeps local state."""

VERSION = "0.2.0"
