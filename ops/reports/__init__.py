"""Reports: what the back office, the regulator's analyst and the player read, each with the proof that it adds up."""
