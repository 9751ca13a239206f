# SPDX-License-Identifier: MIT
"""Runs a program, and ends it with all its children when whoever started this ends, however that happens.

    python guard.py PROGRAM ARGUMENT…

A worker that is killed cannot clean up. Its end of our standard input closes, and that is the sign. We are two processes:
Ray kills the children of a worker whose node is lost, but not their children, so the second one watches the first. By
itself: nothing of the package is imported, so that a start costs some milliseconds.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import sys

_PATIENCE = 10  # seconds, between asking and killing


def main() -> int:
    first = os.getpid()
    second = os.fork()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this decides what Ctrl-C ends
    if not second:
        os.setsid()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        return _guard(first)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(second, signal.SIGTERM))
    status = os.waitstatus_to_exitcode(os.waitpid(second, 0)[1])
    return status if status >= 0 else 128 - status


def _guard(first: int) -> int:
    try:
        child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{sys.argv[1]}: {error.strerror}", file=sys.stderr)
        return 127
    try:
        _wait(child, first)
    except SystemExit:  # asked to: the program may tidy up first
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(_PATIENCE)
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # the group: its leader may be gone, and others not
        child.wait()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _wait(child: "subprocess.Popen[bytes]", first: int) -> None:
    """Until it ends, or standard input or the first process does."""
    with selectors.DefaultSelector() as any_end, contextlib.suppress(ProcessLookupError):
        any_end.register(0, selectors.EVENT_READ)
        any_end.register(os.pidfd_open(child.pid), selectors.EVENT_READ)
        any_end.register(os.pidfd_open(first), selectors.EVENT_READ)
        any_end.select()


if __name__ == "__main__":
    sys.exit(main())
