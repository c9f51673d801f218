"""What a person sees and touches: views show facts and ask through signals."""
