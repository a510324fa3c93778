"""The command line: data on stdout, progress and errors on stderr, exit statuses of docs/formats.

`main` is the group; each other module has the commands of one subject.  What is slow to import (rich, the store) is
imported inside the command that needs it: a command must start in a blink.

Not here: anything that decides; a command reads, calls and prints.
"""
