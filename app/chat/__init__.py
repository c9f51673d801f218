"""Conversations: stored, streamed, split into reasoning and answer."""
