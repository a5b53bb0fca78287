"""The model cards of a repository: Markdown with metadata that the hub reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ambulo.commands.hub.manifest import CARD, MANIFEST, Manifest, Results, Score

LIBRARY = "ambulo"
POLICY = "policy"
"""Name of the model among the agents of an evaluation."""
_REINFORCEMENT = ("vr_navigation", "locomotion", "ambulo-cascade", "game")
"""Kinds that act in environments."""
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)\n?")
_LOCAL_LINK = re.compile(r"\[([^\]]*)\]\((?!https?://|#)[^)]*\)")


def model_card(manifest: Manifest, words: str) -> str:
    """Return the card of one model.

    Args:
        manifest: What it is.
        words: Markdown that describes it further; pictures and links to files that are not
            in the repository are left out.
    """
    body = _LOCAL_LINK.sub(r"\1", _IMAGE.sub("", words)).strip()
    parts = [_metadata([manifest]), "" if body else f"# {manifest.name}"]
    parts += [body, _facts(manifest), _results(manifest.results), _use(manifest)]
    return "\n\n".join(part for part in parts if part) + "\n"


def repository_card(manifests: Sequence[Manifest]) -> str:
    """Return the card of a repository with several models."""
    rows = [
        f"| [{m.name}]({m.name}/{CARD}) | {_cell(m.kind)} | {_cell(m.headline)} |"
        for m in manifests
    ]
    table = "\n".join(["| model | kind | |", "|---|---|---|", *rows])
    return f"{_metadata(manifests)}\n\n# Models of Ambulo\n\n{table}\n"


def _metadata(manifests: Sequence[Manifest]) -> str:
    """Return the YAML block of a card."""
    from huggingface_hub import EvalResult, ModelCardData

    kinds = sorted({m.kind for m in manifests})
    acting = any(kind in _REINFORCEMENT for kind in kinds)
    licences = {m.licence for m in manifests}
    results = [
        EvalResult(
            task_type="reinforcement-learning" if m.kind in _REINFORCEMENT else "other",
            task_name=m.kind,
            dataset_type="ambulo-eval",
            dataset_name=m.results.evaluated[:200],
            metric_type=name,
            metric_value=score.value,
            metric_name=f"{name} [{score.unit}]",
        )
        for m in manifests
        if m.results is not None
        for name, score in m.results.agents.get(POLICY, {}).items()
        if score.value is not None
    ]
    data = ModelCardData(
        license=licences.pop() if len(licences) == 1 else "other",
        library_name=LIBRARY,
        pipeline_tag="reinforcement-learning" if acting else None,
        tags=[LIBRARY, *kinds, *(["reinforcement-learning"] if acting else [])],
        model_name=manifests[0].name if results else None,
        eval_results=results or None,
        contract={m.name: m.contract for m in manifests},
        commit={m.name: m.commit for m in manifests if m.commit} or None,
    )
    return f"---\n{data.to_yaml().strip()}\n---"


def _facts(manifest: Manifest) -> str:
    """Return the table of what a model is."""
    rows = {
        "kind": f"{manifest.kind}: {manifest.summary}",
        "headline": manifest.headline,
        "contract": f"`{manifest.contract}`",
        "commit": f"`{manifest.commit}`" if manifest.commit else "",
        "trained": manifest.created,
        "command": f"`{manifest.training}`" if manifest.training else "",
        "licence": manifest.licence,
        "ONNX": manifest.onnx,
        "files": f"checksums in {MANIFEST}",
    }
    lines = [f"| {key} | {_cell(value)} |" for key, value in rows.items() if value]
    return "\n".join(["## Facts", "", "| | |", "|---|---|", *lines])


def _results(results: Results | None) -> str:
    """Return the table of an evaluation; "" without one."""
    if results is None:
        return ""
    names = list(dict.fromkeys(n for row in results.agents.values() for n in row))
    head = f"| metric | {' | '.join(_cell(agent) for agent in results.agents)} |"
    lines = [head, "|---" * (len(results.agents) + 1) + "|"]
    for name in names:
        cells = [_number(scores.get(name)) for scores in results.agents.values()]
        unit = next(s[name].unit for s in results.agents.values() if name in s)
        label = name if unit == "1" else f"{name} [{unit}]"
        lines.append(f"| {_cell(label)} | {' | '.join(cells)} |")
    how = f"{results.evaluated}; {results.episodes} of each, seed {results.seed}."
    command = f"`{results.command}`"
    return "\n".join(["## Results", "", how, "", command, "", *lines])


def _number(score: Score | None) -> str:
    """Return a number with its interval."""
    if score is None or score.value is None:
        return "-"
    text = f"{score.value:.4g}"
    if score.low is not None and score.high is not None:
        text += f" [{score.low:.4g}, {score.high:.4g}]"
    return text


def _use(manifest: Manifest) -> str:
    """Return how the model is used."""
    return (
        "## Use\n\n"
        "```\n"
        'pip install "ambulo[train,hub]"\n'
        f"ambulo pull OWNER/REPO/{manifest.name}\n"
        "```\n\n"
        "```python\n"
        "import ambulo\n\n"
        f'model = ambulo.load("{manifest.name}")\n'
        "```"
    )


def _cell(text: str) -> str:
    """Return text for one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
