"""Pose networks with the published interface: 50 numbers in, 69 out."""

from __future__ import annotations

from ambulo.ik.solver.headers import IK_PUBLISHED, IKNetworkHeader
from ambulo.policies.files.spec import ModelSpec


def _headline(header: IKNetworkHeader) -> str:
    return f"rig {header.rig}, {header.kind}"


SPEC = ModelSpec(
    kind="ik_published",
    summary="predicts poses: the published 50 numbers to 69",
    header=IKNetworkHeader,
    loader="ambulo.ik.solver.network:load_ik_network",
    headline=_headline,
    formats=(IK_PUBLISHED,),
    graph="ambulo.policies.export.poses:solver_graph",
)
