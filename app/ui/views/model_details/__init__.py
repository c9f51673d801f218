"""The lower half of a model's page: sizes, chat template, tensors, metadata, and two models side by side."""
