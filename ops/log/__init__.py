"""The transparency log in the world: its folder, its sequencer, its keys, and witnesses.  Format: docs/formats/log.md.

Not here: what is signed and proved (`domain.log`), the addresses that serve it (`ops.api.log`).
"""
