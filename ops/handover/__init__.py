"""The hand-over kit: everything that a test laboratory needs to check us without us."""
