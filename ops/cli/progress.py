"""A progress bar on stderr for long work; on something else than a terminal, nothing but silence.

Not here: what the work is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ops.cli.output import progress_console


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar of `total` steps; the function given moves it on by one or by so many, and may set another total."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = progress_console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, refresh_per_second=5) as bar:
        task = bar.add_task(title, total=total)

        def advance(steps: int = 1, total: int | None = None) -> None:
            bar.update(task, advance=steps, total=total)

        yield advance
