"""What the training commands share besides their flags."""

from __future__ import annotations

import argparse
import logging
import sys

from ambulo.configs.base import Config
from ambulo.configs.errors import ConfigError, nearest
from ambulo.train.shared.files import check_parent, write_atomic
from ambulo.train.shared.paths import resolve_path


def show_config(args: argparse.Namespace, config: Config) -> int:
    """Print the settings or write them to a file, as asked."""
    if args.print_config:
        print(config.to_json(), end="")
    if args.save_config:
        check_parent(args.save_config)
        path = resolve_path(args.save_config)
        write_atomic(path, config.to_json())
        print(f"settings written to {path}", file=sys.stderr)
    return 0


def set_up_logging(args: argparse.Namespace) -> None:
    """Messages of this package as `--log-level` and `--verbose` say, others' warnings."""
    name = args.log_level or ("info" if args.verbose else "warning")
    levels = ("debug", "info", "warning", "error")
    if name.lower() not in levels:
        raise ConfigError(f"--log-level: unknown level {name!r}{nearest(name, levels)}")
    logging.basicConfig(
        level="WARNING", format="%(levelname)s %(name)s: %(message)s", force=True
    )
    logging.getLogger("ambulo").setLevel(name.upper())
