"""Is the installation in order?  Roles, rights, triggers, settings, clock, keys, program: examined, said, recorded.

Not here: whether the record is true (`replay`); a site in perfect order may still have a forged journal.
"""
