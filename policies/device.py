"""The torch device of a training."""

from __future__ import annotations

import torch

from ambulo.configs.errors import ConfigError


def pick_device(name: str) -> torch.device:
    """Return the torch device `name`; `auto` is a GPU where there is one.

    Raises:
        ConfigError: It cannot be used here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [""])[0].partition(". ")[0]
        raise ConfigError(
            f"training.device = {name!r} cannot be used: {reason}"
        ) from None
    return device


def start_torch(device: str, seed: int, threads: int = 0) -> torch.device:
    """Seed torch and set its threads, 0: as they are; return the device `device`.

    Raises:
        ConfigError: The device cannot be used here.
    """
    if threads:
        torch.set_num_threads(threads)
    torch.manual_seed(seed)
    return pick_device(device)
