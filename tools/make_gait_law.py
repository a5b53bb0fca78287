"""Make models/gait_law/healthy_gait.npz: `python tools/make_gait_law.py`; a minute."""

import sys
from pathlib import Path

from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.reference.gait_reference import made_gait
from ambulo.envs.reference.reference import save_reference

TARGET = Path(__file__).parent.parent / "models" / "gait_law" / "healthy_gait.npz"


def main(out: str | Path = TARGET) -> None:
    """Write the file."""
    Path(out).parent.mkdir(exist_ok=True)
    save_reference(Path(out), made_gait(LocomotionEnvironmentConfig()))


if __name__ == "__main__":
    main(*sys.argv[1:])
