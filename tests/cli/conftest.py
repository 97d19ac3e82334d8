import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

import hyplearn
from support.fitted_models import NAMES, ball


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Function that calls the command line in an empty folder and returns the result."""
    from hyplearn.cli.app import app

    monkeypatch.chdir(tmp_path)

    def call(*arguments, code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
        return result

    return call


@pytest.fixture
def as_json(run):
    return lambda *arguments: json.loads(run(*arguments, "--json").stdout)


X, codes = ball(60)


@pytest.fixture
def points(tmp_path):
    """CSV table of points of three kinds."""
    rows = [f"{x!r},{y!r},{kind}" for (x, y), kind in zip(X.tolist(), NAMES[codes], strict=True)]
    (tmp_path / "points.csv").write_text("\n".join(["x,y,kind", *rows]))
    return tmp_path / "points.csv"


@pytest.fixture(scope="session")
def model():
    return hyplearn.PoincareLogisticRegression().fit(X, NAMES[codes])


@pytest.fixture
def model_file(tmp_path, model):
    hyplearn.save(model, tmp_path / "model.hyp")
    return tmp_path / "model.hyp"


@pytest.fixture
def cells(tmp_path):
    """AnnData file of the points, with ten unlabelled cells."""
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    kinds = pd.Series(NAMES[codes], index=[f"cell{k}" for k in range(60)], dtype=object)
    kinds[:10] = np.nan
    cells = anndata.AnnData(np.ones((60, 1)), obs=pd.DataFrame({"kind": kinds}), obsm={"X_poincare": X})
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"
