"""Reconciling: projections against the journal, and operators' files against both."""
