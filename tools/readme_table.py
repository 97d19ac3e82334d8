"""Write the table of accuracies into README.md from ``experiments/results/comparison.csv``.

    python tools/readme_table.py

``python experiments comparison --full`` writes the file of results.
"""

import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results" / "comparison.csv"
README = ROOT / "README.md"
PROTOCOL = "5 × 2-fold"
SETS = {
    "olsson": "blood cells (8)",
    "cifar10": "CIFAR10 (10)",
    "fashion-mnist": "Fashion-MNIST (10)",
    "mammals": "mammals (13)",
}
CLASSIFIERS = {
    "largest class": "largest class",
    "Euclidean SVM": "Euclidean SVM",
    "Euclidean softmax, tuned": "Euclidean softmax, tuned",
    "RBF-SVM, tuned": "RBF-SVM, tuned",
    "15 neighbours": "15 neighbours",
    "random forest": "random forest",
    "PoincareSVC": "`PoincareSVC`",
    "PoincareLogisticRegression": "`PoincareLogisticRegression`",
    "PoincareKernelClassifier": "`PoincareKernelClassifier`",
}
TABLE = re.compile(r"(?<=<!-- accuracy -->\n).*?(?=<!-- end of accuracy -->)", re.DOTALL)


def means():
    """Return the mean accuracy and log-loss over splits, by classifier and data set."""
    with RESULTS.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["protocol"] == PROTOCOL]
    return {
        (name, data): tuple(
            mean([float(row[measure]) for row in rows if (row["classifier"], row["set"]) == (name, data)])
            for measure in ("accuracy", "log-loss")
        )
        for name in CLASSIFIERS
        for data in SETS
    }


def mean(values):
    """Return the arithmetic mean."""
    return sum(values) / len(values)


def table():
    """Return the table as Markdown, with the best accuracy and log-loss of each data set in bold."""
    found = means()
    lines = [f"| accuracy, log-loss | {' | '.join(SETS.values())} |", "| --- " * (len(SETS) + 1) + "|"]
    for name, shown in CLASSIFIERS.items():
        cells = []
        for data in SETS:
            accuracies, losses = zip(*(found[other, data] for other in CLASSIFIERS), strict=True)
            accuracy, loss = found[name, data]
            cells.append(f"{bold(accuracy, max(accuracies), '.1f', ' %')}, {bold(loss, min(losses), '.2f')}")
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def bold(value, best, form, unit=""):
    """Format a number with its unit, in bold if it is the best one as printed."""
    text = f"{value:{form}}{unit}"
    return f"**{text}**" if f"{value:{form}}" == f"{best:{form}}" else text


if __name__ == "__main__":
    README.write_text(TABLE.sub(lambda _: table(), README.read_text(encoding="utf-8")), encoding="utf-8")
    print(table())
