"""Slow and obvious second implementations, written from the rules alone.

Nothing here imports the product: a mistake must be made twice, by two people, to stay hidden.
"""
