"""The header of a model file: read, described, judged; never its tensor data."""
