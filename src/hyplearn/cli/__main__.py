"""``python -m hyplearn.cli`` is ``hyplearn``."""

from hyplearn.cli import main

main()
