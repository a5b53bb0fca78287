"""Write configs/cmu_activities.json from the index of the CMU motion-capture database.

python tools/cmu_activities.py CMU-INDEX.md

The index (by B. Hahne, in every cgspeed release of the data) holds one description for
each trial. Only labels are kept: the first activity that the description names, else the
one that the subject's title names.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path

from ambulo.motion.datasets.activities import label_of_text

TABLE = Path(__file__).parent.parent / "configs" / "cmu_activities.json"
SOURCE = (
    "Labels by tools/cmu_activities.py, from the trials' descriptions in the index of "
    "the CMU Graphics Lab Motion Capture Database, mocap.cs.cmu.edu"
)


def labels_of(index: str) -> dict[str, dict[str, list[int]]]:
    """Trial numbers by subject and label."""
    found: dict[str, dict[str, list[int]]] = {}
    title = ""
    for line in index.splitlines():
        if line.startswith("Subject"):
            title = line.partition("(")[2]
        trial = re.match(r"(\d+)_(\d+)\s+(.*)", line)
        if trial is not None:
            subject, number, description = trial.groups()
            label = label_of_text(description) or label_of_text(title) or "other"
            found.setdefault(subject, {}).setdefault(label, []).append(int(number))
    return found


def ranges(numbers: list[int]) -> str:
    """[1, 2, 3, 7] as "1-3,7"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def main() -> int:
    """Write the table and print how often each label occurs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("index", type=Path, help="CMU-INDEX.md")
    parser.add_argument("--out", type=Path, default=TABLE)
    args = parser.parse_args()
    found = labels_of(args.index.read_text(encoding="utf-8"))
    rows = [
        f"  {json.dumps(subject)}: "
        + json.dumps({label: ranges(trials) for label, trials in labels.items()})
        for subject, labels in sorted(found.items())
    ]
    body = ",\n".join(rows)
    text = f'{{\n "source": {json.dumps(SOURCE)},\n "subjects": {{\n{body}\n }}\n}}\n'
    args.out.write_text(text, encoding="utf-8")
    count = Counter[str]()
    for labels in found.values():
        count.update({label: len(trials) for label, trials in labels.items()})
    print(", ".join(f"{label} {number}" for label, number in count.most_common()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
