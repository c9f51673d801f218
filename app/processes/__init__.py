"""Child processes: started, limited, watched and ended, whatever they run."""
