"""All commands under one name. A new one is a file here, and a line below."""

from typing import Annotated

import typer

from hyplearn.cli import datasets, demo, embed, evaluate, explore, fit, inspect, plot, predict, reproduce
from hyplearn.cli.command import add

app = typer.Typer(
    name="hyplearn",
    help="Linear classification in hyperbolic space: points of the Poincaré ball in, classes and probabilities out.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin here:\n\nhyplearn demo\n\nhyplearn datasets fetch mammals -o mammals.csv\n\n"
    "hyplearn fit mammals.csv --label order -o mammals.hyp",
)


def _version(asked: bool) -> None:
    if asked:
        from hyplearn import __version__

        typer.echo(f"hyplearn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for module in (embed, fit, predict, evaluate, plot, explore, inspect, demo, reproduce):
    add(app, module.run, module.NAME, module.EXAMPLES)

sets = typer.Typer(help="Data sets to begin with.", no_args_is_help=True)
add(sets, datasets.listed, "list", datasets.EXAMPLES)
add(sets, datasets.fetched, "fetch", datasets.EXAMPLES)
app.add_typer(sets, name="datasets")
