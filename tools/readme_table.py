"""Write the tables of accuracies and of times into README.md from the files of results.

    python tools/readme_table.py

``python experiments comparison --full`` writes the accuracies, and ``python benchmarks/bench_svm.py table`` the times.
"""

import csv
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results" / "comparison.csv"
TIMES = ROOT / "benchmarks" / "results" / "svm.json"
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
    "15 neighbours": "15 hyperbolic neighbours",
    "random forest": "random forest",
    "PoincareSVC": "`PoincareSVC`",
    "PoincareLogisticRegression": "`PoincareLogisticRegression`",
    "PoincareKernelClassifier": "`PoincareKernelClassifier`",
}
CASES = {
    "mammals, 1170 × 2": "mammals, 13 classes, 1,170 × 2",
    "Olsson, 231 × 2": "blood cells, 8 classes, 231 × 2",
    "1000 × 2": "1,000 × 2",
    "100000 × 2": "1e5 × 2",
    "1000000 × 2": "1e6 × 2",
    "100000 × 10": "1e5 × 10",
    "100000 × 100": "1e5 × 100",
    "100000 × 1000": "1e5 × 1000, both without probabilities",
}


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


def accuracies():
    """Return the table of accuracies as Markdown, with the best accuracy and log-loss of each data set in bold."""
    found = means()
    lines = [f"| accuracy, log-loss | {' | '.join(SETS.values())} |", "| --- " * (len(SETS) + 1) + "|"]
    for name, shown in CLASSIFIERS.items():
        cells = []
        for data in SETS:
            all_accuracies, losses = zip(*(found[other, data] for other in CLASSIFIERS), strict=True)
            accuracy, loss = found[name, data]
            cells.append(f"{bold(accuracy, max(all_accuracies), '.1f', ' %')}, {bold(loss, min(losses), '.2f')}")
        lines.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def times():
    """Return the table of times as Markdown, from the newest run that measured each case."""
    runs = [run["rows"] for run in json.loads(TIMES.read_text(encoding="utf-8"))]
    ratios = {
        row["case"]: row["ours / LinearSVC"]["minimum"]
        for rows in reversed(runs)
        for row in rows
        if row["case"] in CASES
    }
    return (
        "\n".join(
            ["| points × dimensions | ratio |", "| --- | --- |"]
            + [f"| {CASES[case]} | {ratios[case]:.2f} |" for case in CASES]
        )
        + "\n"
    )


TABLES = {"accuracy": accuracies, "times": times}


def filled(text):
    """Return the text of the README with the current tables between their marks."""
    for name, table in TABLES.items():
        marks = rf"(?<=<!-- {name} -->\n).*?(?=<!-- end of {name} -->)"
        text = re.sub(marks, lambda _, table=table: table(), text, flags=re.DOTALL)
    return text


def bold(value, best, form, unit=""):
    """Format a number with its unit, in bold if it is the best one as printed."""
    text = f"{value:{form}}{unit}"
    return f"**{text}**" if f"{value:{form}}" == f"{best:{form}}" else text


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
