"""What all commands share: --json and --debug, warnings and errors without tracebacks, exit codes.

A command is a function that takes its options and returns an :class:`Outcome`; it prints nothing. Exit codes: 0 if all
went well, 1 where data, files or options of a model are wrong, 2 where the command line is.
"""

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hyplearn.cli.output import Outcome, show, show_error, write_json

AS_JSON = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
DEBUG = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
EXPECTED = (ValueError, KeyError, OSError, ImportError)
# Arguments of functions that messages name, as the command line spells them.
FLAGS = {"basis": "points"} | {name: name for name in ("label", "points", "outside", "curvature", "reference")}


# What click raises of a wrong command line; where it comes from depends on the version of typer.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


class Command(TyperCommand):
    """A command that tells programs of wrong usage as it tells them of any error, in JSON."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options."""
        with _usage_told("--json" in args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _usage_told(ctx.params["as_json"]):
            return super().invoke(ctx)


@contextmanager
def _usage_told(as_json: bool) -> Iterator[None]:
    try:
        yield
    except USAGE_ERROR as error:
        if as_json:
            write_json({"error": error.format_message()})
        raise


def add(app: typer.Typer, function: Callable[..., Outcome], name: str, examples: tuple[str, ...]) -> None:
    """Make a function a command of the app."""
    epilog = "\n\n".join(["Examples:", *examples])
    app.command(name, cls=Command, epilog=epilog)(_command(function))


def _command(function: Callable[..., Outcome]) -> Callable[..., None]:
    """The function with --json and --debug, its outcome printed, its complaints on stderr."""

    @wraps(function)
    def run(*, as_json: bool, debug: bool, **options: Any) -> None:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                # Files are read by the names of columns; arrays, which bring none, are what estimators get of them.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                outcome = function(**options)
            show(outcome, _messages(caught), as_json)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except Exception as error:
            if debug:
                raise
            show_error(explained(error), as_json)
            raise typer.Exit(1) from None
        if outcome.failed:
            raise typer.Exit(1)

    extra = {"as_json": AS_JSON, "debug": DEBUG}
    signature = inspect.signature(function)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in extra.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, **extra, "return": None}
    return run


def explained(error: Exception) -> str:
    """The message of an error in the words of the command line; of an unexpected one, what to do."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if not isinstance(error, EXPECTED):
        return f"{type(error).__name__}: {text}\nThis was not foreseen. Run again with --debug for the traceback."
    return re.sub(r"(?<![\w.-])(\w+)=([^\s,.;]?)", _as_flag, text)


def _as_flag(found: re.Match[str]) -> str:
    """``label=`` as ``--label``, and what follows it after a space."""
    name, value = found.groups()
    return f"--{FLAGS[name]} {value}".rstrip() if name in FLAGS else found[0]


def _messages(caught: list[warnings.WarningMessage]) -> list[str]:
    """What was warned of, each thing once; not what libraries tell their developers."""
    told = [w for w in caught if not issubclass(w.category, (DeprecationWarning, FutureWarning, ImportWarning))]
    return list(dict.fromkeys(str(warning.message) for warning in told))
