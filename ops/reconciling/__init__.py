"""Hold what is remembered against what happened: projections against the journal, an operator's files against both."""
