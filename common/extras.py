"""Optional packages, and the extras that install them."""

from __future__ import annotations

from ambulo.configs.errors import AmbuloError

EXTRAS = {
    "train": (
        "array_api_compat", "filelock", "imageio", "imageio_ffmpeg", "jinja2", "matplotlib",
        "myo_sim", "onnx", "onnxruntime", "onnxscript", "rich", "safetensors",
        "stable_baselines3", "tensorboard", "torch",
    ),
    "gpu": ("mujoco_warp", "warp"),
    "ray": ("ray",),
    "tune": ("optuna",),
    "stream": ("websockets",),
    "hub": ("huggingface_hub",),
    "minari": ("h5py", "minari"),
    "mlflow": ("mlflow",),
    "trackio": ("trackio",),
    "wandb": ("wandb",),
    "viewer": ("viser",),
    "gamepad": ("pygame",),
    "completion": ("shtab",),
}  # fmt: skip
"""Extras of `pip install "ambulo[...]"` and their modules."""

PURPOSES = {
    "train": "training, evaluation, export, films, and models as policies",
    "multi": "several agents in one level, through PettingZoo",
    "gpu": "physics on a GPU (`--backend warp`)",
    "ray": "work on many machines (`--engine ray`)",
    "tune": "sweeps and search for settings (`ambulo sweep`, `ambulo tune`)",
    "stream": "live streams over WebSocket (`ambulo track-server`)",
    "hub": "models on the Hugging Face hub (`ambulo push`, `ambulo pull`)",
    "minari": "episodes as data sets (`ambulo rollouts`)",
    "mlflow": "trainings in MLflow (`--log-to mlflow`)",
    "trackio": "trainings in trackio (`--log-to trackio`)",
    "wandb": "trainings in Weights & Biases (`--log-to wandb`)",
    "viewer": "models and trainings in the browser (`ambulo play`, `ambulo watch`)",
    "gamepad": "a gamepad for walkers in the viewer",
    "completion": "completion of commands in a shell (`ambulo completion`)",
}
"""Purpose of each extra."""


class MissingPackageError(AmbuloError, ImportError):
    """An optional package is not installed."""


def missing_package(error: ImportError) -> MissingPackageError | None:
    """The error that replaces `error`; None if no extra has the module."""
    name = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if name in modules:
            return MissingPackageError(
                f"this needs the package {name}, which is not installed: "
                f"pip install 'ambulo[{extra}]'"
            )
    return None
