"""Activity label of a clip, from a small fixed set.

The label comes from the first source that has one: a `manifest.csv` beside the clip or above
it, the table of CMU trials, words in the file's name; otherwise it is "other".
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from ambulo.configs.errors import MotionError, MotionFileError, nearest
from ambulo.configs.reading import read_regular
from ambulo.motion.formats.disk import file_errors

ACTIVITIES: tuple[str, ...] = (
    "walk",
    "run",
    "jump",
    "climb",
    "dance",
    "sport",
    "fight",
    "acrobatics",
    "exercise",
    "sit",
    "reach",
    "gesture",
    "animal",
    "other",
)
"""All labels; the index of a label is its number in batches."""

MANIFEST = "manifest.csv"
"""Table of a data folder; columns `subject`, `trial` and `activity` are read."""
_LEVELS_ABOVE = 4
_MAX_MANIFEST_BYTES = 2**26

# Word prefixes (whole words if they end in "$"); the first one in a text decides, so that
# "walk, then jump" is a walk.
_WORDS: dict[str, str] = {
    "walk": "walk march stride step sidestep limp sneak creep wander navigat hobble "
    "stagger tiptoe strut avoid follow steps terrain slope turn$ turns$ turning$ "
    "mummy zombie wounded drunk hurt mope pace$",
    "run": "run jog sprint",
    "jump": "jump hop$ hops$ hopping hopscotch leap bound$ skip long-jump",
    "climb": "climb ladder stair hang$ grip swing-body ledge",
    "dance": "danc salsa charleston pirouette jete$ lindy lambada ballet arabesque "
    "moonwalk chicken-dance disco waltz",
    "sport": "basketball soccer football golf putt placing-tee placing-ball "
    "picking-up-ball baseball tennis throw dribbl skateboard swim stroke free-style "
    "breast-stroke back-stroke fly-stroke frisbee bowl defensive offensive lay-up "
    "shoot-basket hockey volley sport fishing ball$ kick-ball catch",
    "fight": "fight boxing box$ punch kick sword martial combat strik attack karate "
    "kata$ empi bassai heian violence stab slash jab$ fists shooting-a-gun gun$",
    "acrobatics": "acrobat cartwheel flip backflip handstand handspring somersault "
    "roll$ rolls$ rolling breakdanc gymnast dive$ spin-kick spinkick tumbl",
    "exercise": "exercis stretch squat jumping-jack jumping-jacks yoga side-twists "
    "range-of-motion weight-lift tai-chi push-up sit-up workout calisthenic warm-up",
    "sit": "sit$ sits$ sitting seat stool chair lay$ laying lie$ lying get-up getup "
    "getting-up kneel rise$",
    "reach": "reach bend lift pick carry suitcase lb$ lbs$ grab push pull drag sweep mop "
    "wash wip vacuum hammer chop paint put screw unscrew bolt open pour drink eat eating "
    "sewing mixing bang dial typing writing wait$ balance balancing motorcycle",
    "gesture": "gestur wave$ waving point signal laugh cry$ crying talk story nursery "
    "traffic shrug bow$ curts look conversation quarrel emotion range expression "
    "alaska ring-around peekaboo scared",
    "animal": "animal human-subject chicken monkey dinosaur elephant snake cat$ dog$ "
    "bear$ penguin mouse whale prairie",
}
# A phrase of an animal, or of one kind of sport, outweighs every other word.
_DECISIVE = (
    (re.compile(r"\bhuman subject\b"), "animal"),
    (re.compile(r"\bnursery rhyme\b"), "gesture"),
)


def _pattern() -> tuple[re.Pattern[str], dict[str, str]]:
    """One regular expression with every word, longest first, and the label of each word."""
    labels = {}
    for label, words in _WORDS.items():
        for word in words.split():
            labels[word.replace("-", " ")] = label
    expressions = [
        rf"{re.escape(word[:-1])}\b" if word.endswith("$") else re.escape(word)
        for word in sorted(labels, key=lambda word: (-len(word.rstrip("$")), word))
    ]
    starts = {word.rstrip("$"): label for word, label in labels.items()}
    return re.compile(rf"\b(?:{'|'.join(expressions)})"), starts


_EXPRESSION, _LABEL_OF_WORD = _pattern()


def label_of_text(text: str) -> str | None:
    """The activity that `text` names first, or None.

    Capitals and underscores separate words: "SlowWalk_2" contains "walk".
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    words = re.sub(r"[^a-z0-9]+", " ", words.lower())
    for decisive, label in _DECISIVE:
        if decisive.search(words):
            return label
    result = _EXPRESSION.search(words)
    return None if result is None else _LABEL_OF_WORD[result.group()]


@cache
def cmu_activities() -> dict[str, str]:
    """The label of every CMU trial, by name: "02_01" -> "walk"."""
    table = files("ambulo.configs").joinpath("cmu_activities.json")
    subjects = json.loads(table.read_text(encoding="utf-8"))["subjects"]
    return {
        f"{subject}_{trial:02d}": label
        for subject, labels in subjects.items()
        for label, ranges in labels.items()
        for trial in _trials(ranges)
    }


def cmu_trials(subject: str) -> tuple[str, ...]:
    """Names of the known trials of a CMU subject, ("02_01", ...)."""
    return tuple(
        sorted(name for name in cmu_activities() if name.split("_")[0] == subject)
    )


def _trials(ranges: str) -> list[int]:
    """The numbers in "1-3,7"."""
    numbers: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


@dataclass(frozen=True)
class Manifest:
    """The activities of a data folder's own table."""

    path: Path
    """The file it was read from."""
    activities: dict[tuple[str, str], str]
    """Label by (subject, trial)."""


def find_manifest(folder: Path) -> Path | None:
    """The `manifest.csv` in `folder` or in one of the folders right above it."""
    for place in [folder, *folder.parents][:_LEVELS_ABOVE]:
        if (place / MANIFEST).is_file():
            return place / MANIFEST
    return None


def read_manifest(path: Path) -> Manifest:
    """The manifest at `path`; rows without a trial (skeletons) are skipped.

    Raises:
        MotionFileError: The file is no table with `subject`, `trial` and `activity`.
    """
    try:
        with file_errors(path):
            text = read_regular(path, _MAX_MANIFEST_BYTES).decode("utf-8-sig")
        rows = list(csv.DictReader(text.splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise MotionFileError(path, 0, f"not a table in UTF-8: {error}") from None
    activities: dict[tuple[str, str], str] = {}
    for line, row in enumerate(rows, start=2):
        for column in ("subject", "trial", "activity"):
            if row.get(column) is None:
                raise MotionFileError(path, line, f"needs a column {column!r}")
        if row["trial"]:
            label = known_label(row["activity"])
            subject, trial = padded(row["subject"]), padded(row["trial"])
            activities[subject, trial] = label
    return Manifest(path, activities)


def padded(name: str) -> str:
    """A subject's or trial's name; numbers as the CMU database writes them: "02"."""
    return f"{int(name):02d}" if name.isascii() and name.isdigit() else name


def known_label(text: str) -> str:
    """`text` if it is one of `ACTIVITIES`, else the label of its words."""
    label = text.strip().lower()
    return label if label in ACTIVITIES else label_of_text(text) or "other"


def activity_number(label: str) -> int:
    """Index of `label` in `ACTIVITIES`; `MotionError` if there is none."""
    if label not in ACTIVITIES:
        raise MotionError(f"no activity {label!r}{nearest(label, ACTIVITIES)}")
    return ACTIVITIES.index(label)


def activity_of(
    path: Path, subject: str, trial: str, manifest: Manifest | None = None
) -> str:
    """The label of the clip at `path`; see the head of this module for the order."""
    if manifest is not None:
        result = manifest.activities.get((subject, trial))
        if result is not None:
            return result
    if re.match(r"\d+_\d+", path.stem):
        result = cmu_activities().get(f"{subject}_{trial}")
        if result is not None:
            return result
    return label_of_text(path.stem) or "other"
