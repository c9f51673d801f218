"""What goes into VRAM, RAM and disk, decided from facts alone."""
