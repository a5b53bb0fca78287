"""The torch of a supervised training: device, threads and seed."""

from __future__ import annotations

import torch

from ambulo.policies.device import pick_device


def start_torch(device: str, seed: int, threads: int = 0) -> torch.device:
    """Seed torch and set its threads, 0: as they are; return the device `device`.

    Raises:
        ConfigError: The device cannot be used here.
    """
    if threads:
        torch.set_num_threads(threads)
    torch.manual_seed(seed)
    return pick_device(device)
