"""Properties that all experiments have in common."""

from importlib import import_module, util
from pathlib import Path

import claims
import pytest

MAIN = Path(claims.__file__).parents[1] / "__main__.py"
spec = util.spec_from_file_location("experiments_main", MAIN)
main = util.module_from_spec(spec)
spec.loader.exec_module(main)


@pytest.mark.parametrize("name", main.EXPERIMENTS)
def test_every_experiment_has_a_quick_and_a_full_configuration_and_runs_by_its_name(
    name, tmp_path, monkeypatch, capsys
):
    experiment = import_module(name)
    called = []

    def run(config, folder):
        called.append((config, folder))
        (folder / f"{name}.md").write_text(f"table of {config.name}")

    monkeypatch.setattr(experiment, "run", run)
    for config, flags in ((experiment.Config(), []), (experiment.FULL, ["--full"])):
        monkeypatch.setattr("sys.argv", ["experiments", name, *flags, "--output", str(tmp_path)])
        main.main()
        assert capsys.readouterr().out == f"table of {config.name}\n"
        assert called.pop() == (config, tmp_path)
    assert (experiment.Config().name, experiment.FULL.name) == ("quick", "full")
