"""`dealproof metrics`: the endpoint that Prometheus, a load balancer and a person on call ask.

Not here: what it tells (`ops.metrics`), the same beside the API (`dealproof serve --metrics`).
"""

from __future__ import annotations

import signal
import sys
import threading

import click

from ops.cli.output import UsageError
from ops.settings import Settings

DEFAULT_HOST = "127.0.0.1"


@click.group()
def metrics() -> None:
    """Metrics, health and readiness for those who watch the installation."""


@metrics.command()
@click.option("--listen", metavar="[HOST:]PORT", default="127.0.0.1:9464", show_default=True, help="Where to answer.")
@click.option("--companion-of", "parent", type=int, hidden=True, help="End when this process is our parent no more.")
@click.pass_obj
def serve(settings: Settings, listen: str, parent: int | None) -> None:
    """Answer GET /metrics, /health and /ready until it is interrupted; a database that is away is told, too."""
    from ops.metrics.endpoint import endpoint
    from ops.metrics.looking import Watch
    from ops.parent import end_with_parent
    from ops.site import open_database

    host, port = read_address(listen, "--listen")
    if parent is not None:
        end_with_parent(parent)
    until = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: until.set())
    with open_database(settings) as url:
        watch = Watch(settings, url)
        try:
            with endpoint(watch, host, port) as address:
                print(f"dealproof: metrics at {address}/metrics", file=sys.stderr, flush=True)
                until.wait()
        except OSError as error:
            raise UsageError(f"--listen {listen}: can't listen there: {error.strerror}") from None
        finally:
            watch.close()


def read_address(text: str, option: str) -> tuple[str, int]:
    """Host and port out of `[HOST:]PORT`.  Raises UsageError that names the option."""
    host, colon, digits = text.rpartition(":")
    if colon and not host:
        raise UsageError(f"{option} {text}: names no host before the colon")
    if not digits.isascii() or not digits.isdigit() or not 1 <= int(digits) <= 65_535:
        raise UsageError(f"{option} {text}: {digits!r} is not a port from 1 to 65535")
    if host.count(":") and not (host.startswith("[") and host.endswith("]")):
        raise UsageError(f"{option} {text}: an address with colons stands in brackets, as [::1]:9464")
    return host.strip("[]") or DEFAULT_HOST, int(digits)
