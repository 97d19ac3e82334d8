"""Rerun one of the paper's experiments: ``python experiments NAME``, with ``--full`` in the paper's sizes.

Results are written to ``experiments/results/quick``, or to ``experiments/results`` with ``--full``: the numbers as
``NAME.csv``, the table as ``NAME.md``, the pictures as PNG and SVG, and the configuration, date, machine, versions and
commit as ``NAME.json``. To resume an interrupted run, give the same command again.
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
    parser.add_argument("--full", action="store_true", help="use the sizes and the number of runs of the paper")
    parser.add_argument("--output", type=Path, help="folder for the results")
    arguments = parser.parse_args()
    experiment = import_module(arguments.name)
    folder = arguments.output or (RESULTS if arguments.full else RESULTS / "quick")
    with import_module("pictures").style():
        experiment.run(experiment.FULL if arguments.full else experiment.Config(), folder)
    print((folder / f"{arguments.name}.md").read_text())


if __name__ == "__main__":
    main()
