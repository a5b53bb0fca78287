"""Make models/gait_law/healthy_gait.npz: `python tools/make_gait_law.py`; a minute."""

from pathlib import Path

from ambulo.configs.locomotion import EnvironmentConfig
from ambulo.envs.reference.gait_reference import made_gait
from ambulo.envs.reference.reference import save_reference


def main() -> None:
    """Write the file."""
    folder = Path(__file__).parent.parent / "models" / "gait_law"
    folder.mkdir(exist_ok=True)
    save_reference(folder / "healthy_gait.npz", made_gait(EnvironmentConfig()))


if __name__ == "__main__":
    main()
