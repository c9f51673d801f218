"""Models on disk and where to get more."""
