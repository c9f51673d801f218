"""Building blocks of every view; they know no engine, file or setting."""
