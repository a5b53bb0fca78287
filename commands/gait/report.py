"""`ambulo gait report`: pictures, tables and films of a gait network.

The same as `ambulo eval` of the network.
"""

from __future__ import annotations

from ambulo.commands.gait.flags import ReportFlags


def report(flags: ReportFlags) -> int:
    """Evaluate the network and write the report."""
    from ambulo.evaluate.command import main

    arguments = [flags.model, "--episodes", str(flags.most), "--output", flags.output]
    for folder in flags.data:
        arguments += ["--data", folder]
    if flags.estimator:
        arguments += ["--estimator", flags.estimator]
    if flags.no_video:
        arguments.append("--no-video")
    return main.run(main.parse(arguments))
