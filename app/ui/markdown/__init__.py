"""Model output as text: Markdown read into plain facts, drawn without HTML and without loading anything."""
