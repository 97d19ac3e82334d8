"""Command line interface with the commands ``hyplearn fit``, ``predict``, ``evaluate``, ``plot`` and more."""

import sys


def main() -> None:
    """Run the command line interface; this is the entry point of ``hyplearn``."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write("The command line needs typer and rich: pip install 'hyplearn[cli]'.\n")
        raise SystemExit(1) from None
    try:
        from hyplearn.cli.app import app

        app(prog_name="hyplearn")
    except KeyboardInterrupt:  # typer does not catch an interrupt during the imports
        raise SystemExit(130) from None  # 128 + SIGINT, the usual exit code in shells
