"""Model output as text: Markdown read into plain facts, and drawn without HTML and without loading anything."""
