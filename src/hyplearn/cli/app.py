"""Command line application: it registers the commands, adds --json and --debug to them, and reports errors.

The function of a command takes the options and returns an :class:`Outcome`, which is printed by this module. The exit
code is 0 for success, 1 if the command fails, for example because of invalid data, and 2 for an invalid command line.
"""

import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from hyplearn import __version__

if TYPE_CHECKING:
    from hyplearn.cli.output import Outcome

# Module, function and one-line help of each command. Modules are imported only when one of their commands is
# requested, so that ``hyplearn --help`` takes less than a second.
COMMANDS = {
    "embed": (
        "embed",
        "embed",
        "Embed a tree, distances or features in the ball, or convert points from another model of hyperbolic space.",
    ),
    "fit": ("fit", "fit", "Fit a classifier to labelled points and write it to a model file."),
    "predict": (
        "predict",
        "predict",
        "Predict the class of each point and the probabilities of all classes (with --stream, only the class).",
    ),
    "classify": (
        "cells",
        "classify",
        "Predict cell types, and write the cells with the types, probabilities and, with --coverage, prediction sets.",
    ),
    "transfer": (
        "cells",
        "transfer",
        "Map cells into the ball of an atlas, predict their types from the labels of the atlas, and write the results.",
    ),
    "evaluate": (
        "evaluate",
        "evaluate",
        "Evaluate a model on labelled points; with --folds, compare it with Euclidean classifiers by cross-validation.",
    ),
    "plot": (
        "views",
        "plot",
        "Draw the decision regions and boundaries of a model in the disk, with the points coloured by class.",
    ),
    "explore": (
        "views",
        "explore",
        "Write an interactive HTML page that shows a model and its points in the disk.",
    ),
    "inspect": (
        "views",
        "inspect",
        "Show the contents of a model file: class, parameters, classes, certificate, versions, checksum.",
    ),
    "demo": (
        "builtin",
        "demo",
        "Compare classifiers on the mammals of WordNet; write a figure and an interactive page.",
    ),
    "reproduce": (
        "builtin",
        "reproduce",
        "Recompute small versions of the paper's tables and figures in a clone of hyplearn (about ten minutes).",
    ),
}
DATASETS = {
    "list": ("builtin", "list_datasets", "List the data sets that `hyplearn datasets fetch` writes."),
    "fetch": (
        "builtin",
        "fetch_dataset",
        "Write a data set, from the package or a verified download, to a file that the other commands can read.",
    ),
}

# Examples in the help of the commands. The help of a command shows the lines that start with ``hyplearn`` and its name;
# the help of each command of ``hyplearn datasets`` shows all lines that start with ``hyplearn datasets``.
EXAMPLES = """
hyplearn embed species.nwk --method tree -o species.csv
hyplearn embed taxonomy.csv --method tree --label order -o taxonomy.npz
hyplearn embed distances.npy --method mds -o points.npz
hyplearn embed cells.h5ad --method map --label cell_type --root HSC_1 -o cells.npz
hyplearn embed lorentz.npz --method hyperboloid -o points.npz
hyplearn embed cells.h5ad --method map -o cells.h5ad
hyplearn fit mammals.csv --label order -o mammals.hyp
hyplearn fit cells.h5ad --label cell_type --model svc --c 10 -o cells.hyp
hyplearn fit points.npz --model perceptron --reference origin -o points.hyp
hyplearn fit atlas.parquet --label cell_type --stream -o atlas.hyp
hyplearn predict cells.hyp new.h5ad -o labels.csv
hyplearn predict points.hyp points.npy -o labels.parquet
hyplearn predict points.hyp points.csv | cut -d, -f2 | sort | uniq -c
hyplearn classify cells.h5ad --label cell_type
hyplearn classify cells.zarr --label cell_type --coverage 0.9 --hierarchy types.csv -o typed.zarr
hyplearn transfer atlas.h5ad cells.h5ad --label cell_type --coverage 0.9
hyplearn evaluate cells.hyp held_out.h5ad --label cell_type
hyplearn evaluate fashion.hyp fashion-mnist.npz --points X_test
hyplearn evaluate mammals.hyp mammals.csv --folds 5 --json > report.json
hyplearn plot mammals.hyp mammals.csv -o mammals.png
hyplearn plot cells.hyp cells.h5ad --label cell_type -o cells.svg
hyplearn explore mammals.hyp mammals.csv -o mammals.html
hyplearn explore cells.hyp cells.h5ad --label cell_type --columns batch,Gata1 -o cells.html
hyplearn explore species.hyp species.csv --edges species.nwk -o species.html
hyplearn inspect mammals.hyp
hyplearn inspect mammals.hyp --json
hyplearn demo
hyplearn demo -o out
hyplearn reproduce
hyplearn datasets list
hyplearn datasets fetch mammals
hyplearn datasets fetch olsson -o cells.npz
"""
# Options that every command has.
COMMON: dict[str, Any] = {
    "as_json": Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
}
# Errors that users can fix, such as invalid input or a missing package. All other errors are reported as unexpected.
EXPECTED = (ValueError, KeyError, OSError, ImportError)
# Mapping from argument names that occur in messages to names of command line options.
FLAGS = {"basis": "points", "key_added": "key"} | {
    name: name for name in ("label", "points", "outside", "curvature", "reference", "coverage", "hierarchy")
}
# Pairs of a regular expression, which matches advice to Python users, and the equivalent advice for the command line.
IN_SHELL = (
    (r"hyplearn\.embedding\.from_hyperboloid\([^)]*\)", "hyplearn embed DATA --method hyperboloid -o POINTS"),
    (r"points= to open_points", "--points"),
    (r"move the points inside with hyplearn\.geometry\.project", "pass --outside project"),
    (r"lower C\b", "lower --c"),
    (r"pass the absolute curvature c of your embedding", "pass the --curvature of your embedding"),
    (r"set curvature to that", "set --curvature to that"),
)
# Advice in error messages may name an option of ``hyplearn fit`` that other commands do not have. For each such option,
# OF_FIT contains pairs of a regular expression, which matches the advice, and the text that replaces it in commands
# without the option.
OF_FIT = {
    "outside": ((r', pass --outside "?project"?', ""), (r", or model= with an estimator [^.]*", "")),
    "curvature": (
        (
            r", or (set|pass the) --curvature [^.]*",
            ", or fit the model with hyplearn fit --outside project or --curvature",
        ),
    ),
}
# Click's class of usage errors. Its module depends on the version of typer, so the class is looked up as the base class
# of BadParameter.
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


class Command(TyperCommand):
    """Command that, with --json, writes usage errors as JSON to stdout, in addition to the message on stderr."""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters; flags get an empty metavar, so that the help does not show ``<bool>`` after them."""
        return _without_type_of_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line arguments."""
        with _usage_error_in_json("--json" in args):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _usage_error_in_json(ctx.params["as_json"]):
            return super().invoke(ctx)


def _without_type_of_flags(params: Any) -> Any:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


@contextmanager
def _usage_error_in_json(as_json: bool) -> Iterator[None]:
    try:
        yield
    except USAGE_ERROR as error:
        if as_json:
            from hyplearn.cli.output import write_json

            write_json({"error": error.format_message()})
        raise


class Lazy(TyperGroup):
    """Group of commands that imports the module of a command only when this command is requested."""

    table: ClassVar[dict[str, tuple[str, str, str]]] = COMMANDS
    group: ClassVar[str] = ""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters; flags get an empty metavar, so that the help does not show ``<bool>`` after them."""
        return _without_type_of_flags(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the module of the requested command; return its name, the command itself and the other arguments."""
        if args and args[0] in self.table:
            module, function, _ = self.table[args[0]]
            own = typer.Typer(add_completion=False)
            add(own, getattr(import_module(f"hyplearn.cli.{module}"), function), args[0], self.group)
            self.commands[args[0]] = typer.main.get_command(own)
        return super().resolve_command(ctx, args)


class LazyDatasets(Lazy):
    """Group of the commands of ``hyplearn datasets``."""

    table = DATASETS
    group = "datasets"


def add(app: typer.Typer, function: "Callable[..., Outcome]", name: str, group: str = "") -> None:
    """Add a function as a command to an app; the help of the command ends with examples.

    The examples are the lines of ``EXAMPLES`` for the command or, if ``group`` is given, for all commands of the group.
    """
    examples = [line for line in EXAMPLES.splitlines() if line.startswith(f"hyplearn {group or name}")]
    epilog = "\n\n".join(["Examples:", *examples])
    app.command(name, cls=Command, epilog=epilog)(_command(function))


def _command(function: "Callable[..., Outcome]") -> Callable[..., None]:
    """Return a command, with --json and --debug, that calls a function, prints its outcome and reports errors."""
    from hyplearn.cli.output import show, show_error

    @wraps(function)
    def run(*, as_json: bool, debug: bool, **options: Any) -> None:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                # Ignore this warning, which is expected: columns are selected by name when a file is read, and
                # estimators receive arrays without column names.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                kept = _file_to_replace(**options)
                outcome = function(**options)
            if kept is not None:
                outcome = replace(outcome, notes=[*outcome.notes, f"{kept.name}: the existing file was replaced."])
            show(outcome, _messages(caught), as_json)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except Exception as error:
            if debug:
                raise
            show_error(explained(error, set(own.parameters)), as_json)
            raise typer.Exit(1) from None
        if outcome.failed:
            raise typer.Exit(1)

    own = signature(function)
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for name, kind in COMMON.items()]
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, **COMMON, "return": None}
    return run


def _file_to_replace(output: Path | None = None, data: Path | None = None, **_: Any) -> Path | None:
    """Return the output path if it is an existing file whose contents will be lost, and None otherwise."""
    if output is None or not output.is_file():
        return None
    from hyplearn.cli.cells import SUFFIXES

    # The commands for AnnData files write all contents of the data file together with the results, so nothing is lost
    # if the output replaces the data file.
    is_kept = output.suffix.lower() in SUFFIXES and data is not None and output.resolve() == data.resolve()
    return None if is_kept else output


def explained(error: Exception, options: Collection[str] = tuple(OF_FIT)) -> str:
    """Return an error message for users of the command line; messages about unexpected errors recommend --debug.

    ``options`` contains the names of the command's options. If the message recommends an option of ``hyplearn fit``
    that is not among them, this advice is removed, or replaced with advice that applies.
    """
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if not isinstance(error, EXPECTED):
        return f"{type(error).__name__}: {text}\nThis error is unexpected. Run again with --debug for the traceback."
    text = as_options(text)
    for name in OF_FIT.keys() - set(options):
        for pattern, advice in OF_FIT[name]:
            text = re.sub(pattern, advice, text)
    return text


def as_options(text: str) -> str:
    """Rewrite advice for Python users as advice for the command line."""
    for pattern, command in IN_SHELL:
        text = re.sub(pattern, command, text)
    return re.sub(r"(?<![\w.-])(\w+)=([^\s,.;]?)", _as_flag, text)


def _as_flag(found: re.Match[str]) -> str:
    """Return the option for a matched argument (``--label`` for ``label=``), or the matched text if there is none."""
    name, value = found.groups()
    return f"--{FLAGS[name]} {value}".rstrip() if name in FLAGS else found[0]


def _messages(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return the distinct warning messages, except warnings for developers, such as deprecations in libraries.

    If several messages differ only in numbers or in the text after the first colon, only the first of these messages is
    returned, together with the number of remaining messages.
    """
    from hyplearn.data.points import counted

    kept = [w for w in caught if not issubclass(w.category, (DeprecationWarning, FutureWarning, ImportWarning))]
    messages = dict.fromkeys(as_options(str(warning.message)) for warning in kept)
    alike: dict[str, list[str]] = {}
    for message in messages:
        alike.setdefault(re.sub(r"[-+]?\d[\d.,e+-]*", "#", message.partition(":")[0]), []).append(message)
    return [
        first if not rest else f"{first}\n({counted(len(rest), 'more warning')} like this one.)"
        for first, *rest in alike.values()
    ]


app = typer.Typer(
    name="hyplearn",
    cls=Lazy,
    help="Classification in hyperbolic space: fit, evaluate and plot classifiers for points in the Poincaré ball.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start here:\n\nhyplearn demo\n\nhyplearn datasets fetch mammals -o mammals.csv\n\n"
    "hyplearn fit mammals.csv --label order -o mammals.hyp",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hyplearn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _name(app: typer.Typer, table: dict[str, tuple[str, str, str]]) -> None:
    """Add a placeholder with one-line help for each command in ``table``.

    With these placeholders, ``hyplearn --help`` need not import the modules of the commands.
    """
    for name, (_, _, line) in table.items():
        app.command(name, help=line)(lambda: None)


datasets = typer.Typer(help="List example data sets, or write one to a file.", no_args_is_help=True, cls=LazyDatasets)
_name(app, COMMANDS)
_name(datasets, DATASETS)
app.add_typer(datasets, name="datasets")
