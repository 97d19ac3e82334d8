"""Command line interface with the commands ``hyplearn fit``, ``predict``, ``evaluate``, ``plot`` and more."""

import sys


def main() -> None:
    """Run the command line interface; this is the entry point of the command ``hyplearn``."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write("The command line needs typer and rich: pip install 'hyplearn[cli]'.\n")
        raise SystemExit(1) from None
    try:
        from hyplearn.cli.app import app

        app(prog_name="hyplearn")
    except KeyboardInterrupt:  # typer catches an interrupt only while the app runs, not while it is imported
        raise SystemExit(130) from None  # 128 + SIGINT, the exit code of shells for an interrupted command
