"""mirror-index."""
