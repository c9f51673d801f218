"""Foreign bytes that are more than numbers: looked at in a process with limits, never in this one."""
