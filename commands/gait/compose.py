"""`ambulo gait compose`: a gait policy and its corrections as one model file."""

from __future__ import annotations

from ambulo.commands.gait.flags import ComposeFlags
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path


def compose(flags: ComposeFlags) -> int:
    """Write the cascade."""
    import_mujoco()
    from ambulo.evaluate.locomotion.cascades import composed
    from ambulo.policies.agents.cascade import save_cascade

    path = resolve_path(flags.out)
    whole, models = composed(flags.base, flags.corrections)
    save_cascade(path, whole, models)
    names = ", ".join(node.name for node in whole.nodes)
    print(f"{path}: {names}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
