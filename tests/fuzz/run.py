"""`make fuzz`: hostile files, settings, answers and datagrams, a bounded number of each.

Every case is made by a generator of its own, so that a number repeats it. Each kind runs in
a process with a limit of memory. Faults are everything that a command would show as a
traceback, more than 5 s of work, and more than twice the memory that a valid one needs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.targets import Target, all_targets

from ambulo.configs.errors import AmbuloError

SEEDS = Path(__file__).with_name("seeds.json")
"""Cases that once were faults, by kind."""
ANSWERS = (AmbuloError, OSError, MemoryError)
"""What commands turn into one line."""
CLEAR = Path("/proc/self/clear_refs")
"""File that forgets the most memory that this process had."""
WORK, WAIT = 5.0, 60.0
"""Most time of the processor, and by the clock, of a case, [s]."""
SLACK = 48 * 2**20
"""Memory beside twice that of a valid one: what allocators keep, [bytes]."""


class HangError(BaseException):
    """A case that takes too long."""


@dataclass
class Outcome:
    """What came of the cases of a kind."""

    name: str
    cases: int = 0
    accepted: int = 0
    slowest: float = 0.0
    """Work, [s]."""
    memory: int = 0
    """Most beyond what was there, [bytes]."""
    allowed: int = 0
    """Most that is allowed, [bytes]."""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """Case, and what is wrong with it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run all kinds; 1 if there is any fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=400, help="cases of each kind")
    parser.add_argument("--seed", default="1", help="another one makes other cases")
    parser.add_argument("--seconds", type=float, default=600.0, help="at most, in all")
    parser.add_argument("--only", default="", help="kinds with this in their name")
    parser.add_argument("--keep", type=Path, help="folder for cases that are faults")
    args = parser.parse_args(argv)
    if not CLEAR.exists():
        parser.error(f"memory is measured through {CLEAR}; run it on Linux")
    end, faults, total = time.monotonic() + args.seconds, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        targets = [t for t in all_targets(Path(folder)) if args.only in t.name]
        for number, target in enumerate(targets):
            share = (end - time.monotonic()) / (len(targets) - number)
            outcome = attacked(target, args, share)
            print(line_of(outcome), flush=True)
            for case, reason in outcome.faults:
                print(f"  {case}: {reason}", flush=True)
            faults += len(outcome.faults)
            total += outcome.cases
    print(f"{total} cases, {faults} faults")
    return 1 if faults or not total else 0


def line_of(outcome: Outcome) -> str:
    """Return an outcome as a line."""
    mega = 2**20
    return (
        f"{outcome.name}: {outcome.cases} cases, {outcome.accepted} accepted, slowest "
        f"{outcome.slowest:.2f} s, memory {outcome.memory / mega:.0f} of "
        f"{outcome.allowed / mega:.0f} MiB, {len(outcome.faults)} faults"
    )


def attacked(target: Target, args: argparse.Namespace, share: float) -> Outcome:
    """Return what came of a kind, in a process of its own."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=attack, args=(target, args, share, there)
    )
    child.start()
    there.close()
    outcome, case = Outcome(target.name), "valid"
    while True:
        try:
            if not here.poll(2 * WAIT):
                child.kill()
                outcome.faults.append((case, "does not end"))
                break
            told: Any = here.recv()
        except EOFError:
            if child.exitcode is None:
                child.join(10.0)
            outcome.faults.append((case, f"the process ended ({child.exitcode})"))
            break
        if isinstance(told, Outcome):
            outcome = told
            break
        case = told
    child.join(10.0)
    return outcome


def attack(
    target: Target, args: argparse.Namespace, share: float, out: Connection
) -> None:
    """Run the cases of a kind, known faults first, and tell before each."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _hang)
    import resource  # of Unix alone

    outcome = Outcome(target.name)
    target.whole()
    before = reset_peak()
    target.whole()
    target.whole()
    outcome.allowed = 2 * max(peak() - before, 0) + SLACK
    used = before + outcome.allowed
    resource.setrlimit(resource.RLIMIT_DATA, (used + 2**31, used + 2**31))
    known = json.loads(SEEDS.read_text()).get(target.name, [])
    cases = [*known, *(f"{args.seed}:{i}" for i in range(args.count))]
    end = time.monotonic() + share
    for case in cases:
        if time.monotonic() > end:
            break
        out.send(case)
        one(target, case, outcome, args.keep)
    out.send(outcome)


def one(target: Target, case: str, outcome: Outcome, keep: Path | None) -> None:
    """Run one case and note what came of it."""
    made = target.make(random.Random(f"{target.name}:{case}"))
    before, fault = reset_peak(), ""
    signal.setitimer(signal.ITIMER_PROF, WORK)
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    start = time.process_time()
    try:
        target.run(made)
        outcome.accepted += 1
    except ANSWERS as error:
        if not str(error).strip() and not isinstance(error, MemoryError):
            fault = f"{type(error).__name__} without a word"
    except HangError:
        fault = "takes too long"
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{type(error).__name__}: {str(error)[:120]} ({place.filename}:{place.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    outcome.cases += 1
    outcome.slowest = max(outcome.slowest, time.process_time() - start)
    taken = peak() - before
    outcome.memory = max(outcome.memory, taken)
    if taken > outcome.allowed and not fault:
        fault = f"takes {taken / 2**20:.0f} MiB"
    if fault:
        outcome.faults.append((case, " ".join(fault.split())))
        if keep is not None and isinstance(made, bytes):
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{target.name} {case}".replace(":", "_")).write_bytes(made)


def reset_peak() -> int:
    """Forget the most memory that this process had; return what it has, [bytes]."""
    CLEAR.write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """Return the most memory since `reset_peak`, [bytes]."""
    return _status("VmHWM")


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.split(f"{name}:")[1].split()[0]) * 1024


def _hang(*_: object) -> None:
    raise HangError


if __name__ == "__main__":
    sys.exit(main())
