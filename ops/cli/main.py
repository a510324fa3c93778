"""The command `dealproof`: options that hold for every command, and what an error's exit status is.

Exit status: 0 done, 1 a discrepancy or a refusal was found, 2 usage or unreadable input (one line on stderr), 70 a bug
(with its traceback), 130 interrupted, 141 the reader of the output left.  Source: docs/formats/verdict.md.

Not here: the commands themselves, one module each.
"""

from __future__ import annotations

import importlib
import signal
import sys
import traceback
from types import FrameType
from typing import Any, Final

import click

from ops.cli.output import ReaderLeft, UsageError, printable, reader_may_leave
from ops.logs import set_level
from ops.settings import read_settings

_COMMANDS: Final = {
    "bench": "ops.cli.bench:bench",
    "database": "ops.cli.database:database",
    "days": "ops.cli.days:days",
    "demo": "ops.cli.play:demo",
    "doctor": "ops.cli.doctor:doctor",
    "drill": "ops.cli.drill:drill",
    "evidence": "ops.cli.evidence:evidence",
    "finish": "ops.cli.void:finish",
    "handover": "ops.cli.handover:handover",
    "keys": "ops.cli.keys:keys",
    "log": "ops.cli.log:log",
    "metrics": "ops.cli.metrics:metrics",
    "play": "ops.cli.play:play",
    "project": "ops.cli.project:project",
    "receipt": "ops.cli.receipt:receipt",
    "reconcile": "ops.cli.reconcile:reconcile",
    "report": "ops.cli.report:report",
    "rng": "ops.cli.dump:rng",
    "rounds": "ops.cli.rounds:rounds",
    "rulesets": "ops.cli.rulesets:rulesets",
    "scenario": "ops.cli.scenario:scenario",
    "show": "ops.cli.rounds:show",
    "serve": "ops.cli.serve:serve",
    "shuffle": "ops.cli.dump:shuffle",
    "verifier": "ops.cli.verifier:verifier",
    "verify": "ops.cli.verify:verify",
    "void": "ops.cli.void:void",
    "witness": "ops.cli.witness:witness",
}
"""Command -> module and name: a command is imported when it is used, so that each starts as fast as it can."""


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def invoke(self, ctx: click.Context) -> Any:
        # Inside of click, which would make a status of its own of a reader who leaves.
        with reader_may_leave():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", metavar="FOLDER", help="Where data is kept (DEALPROOF_HOME).")
@click.option("--database-url", metavar="URL", help="PostgreSQL in place of the embedded one (DEALPROOF_DATABASE_URL).")
@click.option("--key-file", metavar="FILE", help="The file that seals seeds (DEALPROOF_KEY_FILE).")
@click.option("--trust", metavar="FILE", help="Whose checkpoints and receipts are believed (DEALPROOF_TRUST).")
@click.version_option(package_name="dealproof")
@click.pass_context
def dealproof(
    context: click.Context, home: str | None, database_url: str | None, key_file: str | None, trust: str | None
) -> None:
    """Audit and replay of casino poker played against the house.

    Try `dealproof demo` first.  Data goes to stdout, progress and errors to stderr.
    """
    context.obj = read_settings(home, database_url, key_file, trust)
    set_level(context.obj.log_level)


def main() -> None:
    """Run the command line and exit with its status."""
    signal.signal(signal.SIGTERM, _leave)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit status of a command line; errors that a user can mend are told in one line."""
    if sys.stdout is None:
        return _say("standard output is closed", 2)
    try:
        _require_text(arguments)
        result: Any = dealproof.main(arguments, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        return _one_line(error.format_message())
    except ReaderLeft:
        return 141  # as a program that SIGPIPE ends
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", 130)
    except Exception as error:
        if _mendable(error):
            return _one_line(_words(error))
        if _lacks_a_package(error):
            return _say("this command needs the server's packages: pip install 'dealproof[server]'", 2)
        traceback.print_exc()
        return _say("this is a bug; the lines above say where", 70)


def _leave(number: int, frame: FrameType | None) -> None:
    """A polite kill ends as an interrupt does: what was opened is closed, the embedded server is stopped.

    In the middle of an import it waits: some of what Python does there swallows an exception, and the kill with it.
    """
    if not _importing(frame):
        sys.exit(128 + number)
    signal.signal(signal.SIGALRM, lambda _, later: _leave(number, later))
    signal.setitimer(signal.ITIMER_REAL, 0.05)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _require_text(arguments: list[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"argument {argument.encode(errors='replace')!r}: is not text in UTF-8") from None


def _mendable(error: Exception) -> bool:
    """Errors of the world outside, each of which is one line already."""
    if isinstance(error, UsageError):
        return True
    if isinstance(error, OSError):
        return True  # a file, a folder or an output that a person can see to
    names = {
        "ApiProblem", "ApiUnavailable", "DatabaseUnavailable", "DayUnknown", "DrillError", "EnvelopeMismatch",
        "EvidenceError", "JournalError", "KeyFileError", "LevelError", "LogKeyError", "LogUnavailable", "NoteError",
        "PostgresServerError", "ProjectionMissing", "ReceiptError", "ReconcileError", "ReportError", "RulesetError",
        "RunningAlready", "ScenarioError", "SealError", "ServerFailed", "SimulationError", "StoreError", "TrustError",
        "UnknownRound", "VersionOther", "WitnessError", "WorkerLost",
    }  # fmt: skip
    # By name, so that a command that needs no database does not import its driver.
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _lacks_a_package(error: Exception) -> bool:
    """Whether a package of others is missing: a plain install has only what a verifier needs."""
    if not isinstance(error, ModuleNotFoundError) or error.name is None:
        return False
    return error.name.partition(".")[0] not in {"domain", "projections", "replay", "ops", *sys.stdlib_module_names}


def _words(error: Exception) -> str:
    return f"{error.filename or 'output'}: {error.strerror}" if isinstance(error, OSError) else str(error)


def _one_line(message: str) -> int:
    return _say(" ".join(printable(line) for line in message.splitlines()), 2)


def _say(message: str, status: int) -> int:
    print(f"dealproof: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
