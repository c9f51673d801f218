"""Moxie 魔匣: runs big mixture-of-experts language models well on one ordinary PC."""

__version__ = "0.1.0"
