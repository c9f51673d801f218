"""What stands between views and core: turns intents into work and results into facts for views."""
