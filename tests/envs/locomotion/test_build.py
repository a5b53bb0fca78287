import gymnasium
import pytest

import ambulo.envs  # noqa: F401
from ambulo.configs.tasks import TASKS
from ambulo.envs.locomotion.build import batch_class


def test_tasks_are_the_files_and_folders_of_envs_tasks():
    assert TASKS == (
        "gait",
        "get_up",
        "imitate",
        "locomote",
        "stand",
        "track",
        "track_body",
        "walk_commands",
    )


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_batch_and_an_environment(task):
    name = task.title().replace("_", "")
    assert batch_class(task).__name__ in (
        f"{name}Batch",
        task,
    )  # a class, or what makes it
    assert f"ambulo/{name}-v0" in gymnasium.registry
