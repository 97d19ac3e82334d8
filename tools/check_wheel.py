"""Check that a wheel contains exactly the files that the package needs, and that a fit works after installation.

Run ``python tools/check_wheel.py dist/*.whl``, then ``python tools/check_wheel.py --installed`` in an environment with
the installed wheel.
"""

import sys
from pathlib import Path
from zipfile import ZipFile

SOURCE = Path(__file__).resolve().parents[1] / "src"
LARGEST = 2_000_000


def contents(path: str) -> set[str]:
    """Return the names of the files in a wheel."""
    with ZipFile(path) as wheel:
        return {name for name in wheel.namelist() if not name.endswith("/")}


def problems(path: str) -> list[str]:
    """List the problems of a wheel."""
    found = {name for name in contents(path) if ".dist-info/" not in name}
    expected = {
        file.relative_to(SOURCE).as_posix()
        for file in (SOURCE / "hyplearn").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    wrong = [f"{name} is missing" for name in sorted(expected - found)]
    wrong += [f"{name} does not belong there" for name in sorted(found - expected)]
    licences = [name for name in contents(path) if name.endswith(("LICENSE", "WORDNET_LICENSE"))]
    wrong += [] if len(licences) >= 2 else ["a licence is missing"]
    size = Path(path).stat().st_size
    return wrong + ([f"{size:,} bytes are more than {LARGEST:,}"] if size > LARGEST else [])


def try_installed() -> None:
    """Fit, save, load and explore with the installed package."""
    import hyplearn
    from hyplearn.datasets import load_mammals

    assert SOURCE not in Path(hyplearn.__file__).parents, "this is the checkout, not the wheel"
    mammals = load_mammals()
    model = hyplearn.PoincareLogisticRegression().fit(mammals.data, mammals.target)
    hyplearn.save(model, "model.hyp")
    assert hyplearn.load("model.hyp").score(mammals.data, mammals.target) > 0.95
    assert hyplearn.explore(model, mammals.data, mammals.target).html
    Path("model.hyp").unlink()
    print(f"hyplearn {hyplearn.__version__} fits, saves, loads and explores.")


def main() -> None:
    """Check the wheels in the arguments, or the installed package."""
    if sys.argv[1:] == ["--installed"]:
        try_installed()
        return
    wrong = [problem for path in sys.argv[1:] for problem in problems(path)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"The wheel has {sum(map(len, map(contents, sys.argv[1:]))):,} files, all of the package and nothing else.")


if __name__ == "__main__":
    main()
