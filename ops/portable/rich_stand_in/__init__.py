"""The part of rich that the verifier uses, in plain Python: a console that prints.

In the verifier that is one file this package stands under the name `rich`.

Not here: colours, tables, and breaking lines.
"""
