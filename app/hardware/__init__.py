"""What the machine has and what it is doing."""
