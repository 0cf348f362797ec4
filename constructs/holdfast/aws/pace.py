"""How fast an operation may be called: without limit, until AWS says that it was too fast."""

from __future__ import annotations

import random
import threading
import time

SLOWEST = 0.1  # seconds between calls: the lowest limit that DynamoDB documents is ten a second
ATTEMPTS = 12
LONGEST = 5.0
STOP = threading.Event()  # set when no answer is wanted any more: every thread stops waiting


class Pace:
    """One per operation, because the limits are: a throttled operation must not hold up the others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._interval = 0.0
        self._free = 0.0
        self._slowed = 0.0

    def wait(self) -> float:
        """Waits for a turn and gives the time at which it came."""
        if not self._interval:
            return time.monotonic()
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._free)
            self._free = turn + self._interval
        STOP.wait(turn - now)
        return turn

    def slower(self, sent: float) -> None:
        """After a throttled call; those that were sent before the last slowing down tell nothing new."""
        with self._lock:
            if sent >= self._slowed:
                self._interval = min(SLOWEST, max(self._interval * 2, SLOWEST / 16))
                self._slowed = time.monotonic()

    def faster(self) -> None:
        if self._interval:
            with self._lock:
                self._interval = 0.0 if self._interval < SLOWEST / 50 else self._interval * 0.9


def pause(attempt: int) -> None:
    """Before the next attempt: longer each time, and never for all callers alike."""
    STOP.wait(random.uniform(0, min(LONGEST, 0.05 * 2**attempt)))
