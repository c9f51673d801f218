"""The process that runs the model, and everything that talks to it."""
