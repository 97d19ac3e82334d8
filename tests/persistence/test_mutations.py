"""Each mutated model file either loads as a working model or is rejected with one clear error."""

import pytest

from support.mutations import run


def test_mutated_files_are_rejected_or_load_as_models_that_work():
    outcomes = run(2000)
    assert outcomes.total() == 2000
    assert sum(n for (_, result), n in outcomes.items() if result == "loaded") > 100


@pytest.mark.slow
def test_a_hundred_thousand_mutated_files():
    assert run(100_000, first=2000).total() == 100_000
