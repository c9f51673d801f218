"""Charts over time; the only importer of pyqtgraph."""
