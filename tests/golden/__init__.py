"""Recorded rounds that must verify for ever, and tampered copies that must never."""
