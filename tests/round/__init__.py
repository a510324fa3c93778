"""The round as a machine: its phases, its refusals, what it shows when, and the laws of its money."""
