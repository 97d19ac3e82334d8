"""The command ``hyplearn``: fit, predict, evaluate, plot, explore, inspect, from a shell."""

import sys

NEEDS = "The command line needs typer and rich: pip install 'hyplearn[cli]'."

# 128 + SIGINT, as shells count.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; the entry point of ``hyplearn``."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write(f"{NEEDS}\n")
        raise SystemExit(1) from None
    try:
        from hyplearn.cli.app import app

        app(prog_name="hyplearn")
    except KeyboardInterrupt:  # while modules are imported, where nobody else catches it
        raise SystemExit(INTERRUPTED) from None
