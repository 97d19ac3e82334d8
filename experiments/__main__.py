"""Rerun one of the paper's experiments: ``python experiments NAME``, with ``--full`` in the paper's sizes.

Results go to ``experiments/results/quick``, those of the full configuration to ``experiments/results``: numbers as
``NAME.csv``, the table as ``NAME.md``, configuration, date, machine, versions and commit as ``NAME.json``, pictures as
PNG and SVG. What was stopped goes on where it was when the same command is given again.
"""

import argparse
from importlib import import_module
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
EXPERIMENTS = (
    "table1", "synthetic", "handicapped", "table2", "figures", "reference_points", "comparison", "claims", "scaling",
    "images", "embedding_trees", "embedding_cells", "curved", "conformal", "transfer", "defaults", "map_settings",
)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="experiments", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=EXPERIMENTS)
    parser.add_argument("--full", action="store_true", help="the paper's sizes and runs")
    parser.add_argument("--output", type=Path, help="folder of the results")
    arguments = parser.parse_args()
    experiment = import_module(arguments.name)
    import_module("pictures").use_style()
    folder = arguments.output or (RESULTS if arguments.full else RESULTS / "quick")
    experiment.run(experiment.FULL if arguments.full else experiment.Config(), folder)
    print((folder / f"{arguments.name}.md").read_text())


if __name__ == "__main__":
    main()
