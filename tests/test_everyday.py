"""Use of every estimator with pandas, polars and Jupyter."""

import re
import subprocess
import sys
import warnings
from importlib import resources

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from hyplearn import ExpMap, PoincareLogisticRegression, PoincarePerceptron, PoincareSVC, TangentSpace
from support.fitted_models import NAMES, ball, estimators, quietly_fitted

every = pytest.mark.parametrize("estimator", estimators(), ids=lambda e: type(e).__name__)
transformers = pytest.mark.parametrize("transformer", [TangentSpace(), ExpMap()], ids=repr)
X, y = ball()
COLUMNS = ["depth", "width"]
TABLES = {
    "pandas": (pd.DataFrame(X, columns=COLUMNS), pd.Series(NAMES[y])),
    "polars": (pl.DataFrame(X, schema=COLUMNS), pl.Series(NAMES[y])),
}
tables = pytest.mark.parametrize("library", TABLES)


@every
def test_a_notebook_shows_parameters_before_and_after_a_fit(estimator):
    """There are no links to scikit-learn's documentation, which does not contain these classes."""
    before = clone(estimator)._repr_html_()
    after = quietly_fitted(clone(estimator), X, y)._repr_html_()
    for page in (before, after):
        assert type(estimator).__name__ in page
        assert not re.search(r'(href|src)="http', page)
        assert all(name in page for name in estimator.get_params(deep=False))
    assert "Not fitted" in before
    assert "Fitted" in after


def test_a_notebook_shows_a_pipeline():
    assert "PoincareSVC" in make_pipeline(ExpMap(), PoincareSVC())._repr_html_()


@every
@tables
def test_data_frames_are_accepted_with_their_column_names(estimator, library):
    table, labels = TABLES[library]
    model = quietly_fitted(clone(estimator), table, labels)
    plain = quietly_fitted(clone(estimator), X, NAMES[y])
    assert model.feature_names_in_.tolist() == COLUMNS
    method = "predict" if hasattr(model, "predict") else "transform"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = getattr(model, method)(table)
    assert np.array_equal(found, getattr(plain, method)(X))
    with pytest.raises(ValueError, match="must be in the same order"):
        getattr(model, method)(table[COLUMNS[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        getattr(model, method)(X)


def test_weights_streams_and_verify_accept_polars():
    table, labels = TABLES["polars"]
    model = PoincareSVC(folds=2).fit(table, labels, sample_weight=pl.Series(np.ones(len(y))))
    assert model.score(table, labels) > 0.8
    assert model.verify(table, labels).gap.max() < 1e-6
    stream = PoincarePerceptron("origin")
    stream.partial_fit(table[:30], labels[:30], classes=pl.Series(NAMES)).partial_fit(table[30:], labels[30:])
    assert stream.classes_.tolist() == NAMES.tolist()


@pytest.mark.parametrize("labels", [pd.Series(NAMES[y]).astype("category"), pl.Series(NAMES[y], dtype=pl.Categorical)])
def test_categories_are_labels(labels):
    model = PoincareLogisticRegression().fit(X, labels)
    assert np.mean(model.predict(X) == NAMES[y]) > 0.7


@transformers
@tables
@pytest.mark.parametrize("given", ["array", *TABLES])
def test_transformers_return_the_requested_data_frames(transformer, library, given):
    points = X if given == "array" else TABLES[given][0]
    model = clone(transformer).set_output(transform=library).fit(points)
    found = model.transform(points)
    assert isinstance(found, type(TABLES[library][0]))
    assert list(found.columns) == list(model.get_feature_names_out())
    assert np.array_equal(found.to_numpy(), clone(transformer).fit(X).transform(X))


@transformers
@tables
def test_inverse_transform_does_not_warn(transformer, library):
    """The columns have the names of the output of transform, which differ from the names in fit."""
    table = TABLES[library][0]
    model = clone(transformer).set_output(transform=library).fit(table)
    back = model.inverse_transform(model.transform(table))
    assert np.allclose(back, X)
    assert np.allclose(model.inverse_transform(model.transform(table).to_numpy()), X)
    with pytest.raises(ValueError, match=r"X has 1 columns, but the rows .* have 2 columns\.\nPass rows in the form"):
        model.inverse_transform(np.zeros((3, 1)))


def test_the_package_has_a_py_typed_marker():
    assert resources.files("hyplearn").joinpath("py.typed").is_file()


USERS_CODE = """
from pathlib import Path
import numpy as np
import numpy.typing as npt
import hyplearn
from hyplearn import PoincareLogisticRegression, PoincarePerceptron, PoincareSVC, TangentSpace
from hyplearn.datasets import make_ball_classification
from hyplearn.geometry import distance, frechet_mean
from hyplearn.persistence import ModelFileError, read_metadata

X, y, p, w = make_ball_classification(100, 2, random_state=0)
model: PoincareSVC = PoincareSVC(p, C=10.0).fit(X, y)
labels: npt.NDArray[np.str_] = model.predict(X)
far: npt.NDArray[np.float64] = distance(X, frechet_mean(X))
flat: npt.NDArray[np.float64] = TangentSpace("mean").fit(X).transform(X)
softmax: PoincareLogisticRegression = PoincareLogisticRegression(C=1.0).fit(X, y)
each = [PoincareSVC(C=1), PoincareSVC(C=[1.0, 2.0]), PoincareSVC(C=np.ones(3)), PoincareSVC(C="auto")]
stream: PoincarePerceptron = PoincarePerceptron().partial_fit(X, y, classes=np.unique(y))
hyplearn.save(model, Path("model.hyp"))
try:
    loaded: PoincareSVC = hyplearn.load("model.hyp")
except ModelFileError as error:
    print(error)
print(labels[:3], far.max(), flat.shape, softmax.coef_.shape, stream.coef_, read_metadata("model.hyp")["class"])
"""


def strictly_typed(code, folder):
    (folder / "users.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), "users.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
def test_users_code_passes_strict_mypy_and_mistakes_are_found(tmp_path):
    done = strictly_typed(USERS_CODE, tmp_path)
    assert done.returncode == 0, done.stdout
    for mistake, message in (
        ('hyplearn.PoincareSVC(tol="high")', 'incompatible type "str"; expected "float"'),
        ("hyplearn.save(hyplearn.ExpMap())", 'Missing positional argument "path"'),
        ('hyplearn.PoincareSVC(C="aut")', """incompatible type "Literal['aut']"; expected "float"""),
        ('hyplearn.PoincareLogisticRegression(C="aut")', """incompatible type "Literal['aut']"; expected "float"""),
        ("hyplearn.PoincareSVC(cost=1.0)", 'Unexpected keyword argument "cost"'),
    ):
        done = strictly_typed(f"import hyplearn\n{mistake}\n", tmp_path)
        assert message in done.stdout
