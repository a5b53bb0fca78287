"""Child processes that end with this one, even when it is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

_LAUNCHER = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() == int(sys.argv[1]):  # else we are too late: it has died already
    os.execv(sys.argv[2], sys.argv[2:])
"""


def dying_with_us() -> list[str]:
    """The start of a command line that has the kernel kill a child when we are killed.

    The kernel watches the thread that starts the child, so this is for the main thread
    only; elsewhere, and on other systems than Linux, it is empty.
    """
    if sys.platform != "linux" or not sys.executable:
        return []
    if threading.current_thread() is not threading.main_thread():
        return []
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid())]


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a child that leads a process group, with all of the group, and reap it."""
    if process.returncode is not None:  # its id may be another's by now
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # a wrapper script's child too
        else:
            process.kill()
    process.wait()
