"""Run the command line interface with ``python -m hyplearn.cli``."""

from hyplearn.cli import main

main()
