"""The command ``hyplearn``: fit, predict, evaluate, plot, explore, inspect, from a shell."""

import sys

NEEDS = "The command line needs typer and rich: pip install 'hyplearn[cli]'."


def main() -> None:
    """Run the command line; the entry point of ``hyplearn``."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write(f"{NEEDS}\n")
        raise SystemExit(1) from None
    from hyplearn.cli.app import app

    app(prog_name="hyplearn")
