"""Pose networks that also see earlier moments: for three trackers, head and hands."""

from __future__ import annotations

from ambulo.ik.solver.headers import IK_NETWORK, IKNetworkHeader
from ambulo.policies.files.spec import ModelSpec
from ambulo.policies.kinds.ik_network import headline

SPEC = ModelSpec(
    kind="ik_trackers",
    summary="solves poses: head and hands, now and before, to a whole body",
    header=IKNetworkHeader,
    loader="ambulo.ik.solver.solver:load_solver",
    headline=headline,
    formats=(IK_NETWORK,),
    matches=lambda raw: bool(raw.get("past")),
    exports={"onnx": "ambulo.policies.export.poses:export_solver"},
)
