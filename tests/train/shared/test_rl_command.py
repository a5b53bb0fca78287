from __future__ import annotations

from types import SimpleNamespace

import pytest

from ambulo.configs.vr import NavigationTrainingConfig
from ambulo.train.shared import fleet, rl_run
from ambulo.train.shared.flags import ActingFlags
from ambulo.train.vr.command import NavigationCommand


@pytest.fixture
def built(monkeypatch):
    """The number of workers that a run is built with, from settings and flags."""
    monkeypatch.setattr(fleet, "started", lambda task, workers, *_: ("fleet", workers))
    monkeypatch.setattr(rl_run, "RLRun", lambda *given: given[-1])

    class Command(NavigationCommand):
        def task(self, request):
            return SimpleNamespace(budget=request.config)

    def build(settings: int, engine: str = "ray", workers: int | None = None):
        args = ActingFlags(engine=engine, workers=workers)
        config = NavigationTrainingConfig(num_workers=settings)
        request = SimpleNamespace(
            config=config, args=args, folder=None, checkpoint=None, initial=None
        )
        return Command().build(request)

    return build


@pytest.mark.parametrize(
    ("settings", "flag", "workers"), [(4, None, 4), (4, 2, 2), (1, None, None)]
)
def test_num_workers_are_workers_of_the_cluster(built, settings, flag, workers):
    assert built(settings, workers=flag) == ("fleet", workers)


def test_workers_without_ray_are_one_line(built, capsys):
    assert built(4, engine="local") is None
    told = capsys.readouterr().err
    assert "training.num_workers = 4: workers need --engine ray" in told
    assert told.count("\n") == 1
    assert built(1, engine="local") is None
    assert capsys.readouterr().err == ""


def test_threads_of_the_update_have_a_key_of_their_own():
    config = NavigationTrainingConfig(num_workers=4)
    assert (config.num_workers, config.update_threads) == (4, 1)
