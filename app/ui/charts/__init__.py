"""Charts over time."""
