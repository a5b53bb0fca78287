"""Pose networks at run time: poses from the targets of effectors."""

from __future__ import annotations

from ambulo.ik.solver.headers import IK_NETWORK, IKNetworkHeader
from ambulo.policies.files.spec import ModelSpec


def _headline(header: IKNetworkHeader) -> str:
    """Return one line on a pose network, from its header."""
    steps = header.extra.get("steps")
    trained = f", {steps:,} updates" if isinstance(steps, int) else ""
    return f"rig {header.rig}, layers {header.hidden}{trained}"


SPEC = ModelSpec(
    kind="ik_network",
    summary="solves poses: targets of up to six effectors to a whole body",
    header=IKNetworkHeader,
    loader="ambulo.ik.solver.solver:load_solver",
    headline=_headline,
    formats=(IK_NETWORK,),
    graph="ambulo.policies.export.poses:solver_graph",
)
