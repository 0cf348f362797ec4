"""Threads for calls that wait for somebody else. Nothing waits for them once they are not wanted any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")
Task = tuple[Future[Any], Callable[[], Any]]


class Pool:
    """So many threads at most. Those of concurrent.futures would hold Ctrl-C up until the last answer has come."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.Lock()
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0  # tasks that are not done

    def submit(self, work: Callable[..., B], *args: Any, **named: Any) -> Future[B]:
        future: Future[B] = Future()
        with self._lock:
            self._tasks.put((future, lambda: work(*args, **named)))
            self._busy += 1
            if len(self._threads) < min(self._busy, self._size):
                self._threads.append(threading.Thread(target=self._run, daemon=True))
                self._threads[-1].start()
        return future

    def map(self, work: Callable[[A], B], items: Iterable[A]) -> list[B]:
        return [future.result() for future in [self.submit(work, item) for item in items]]

    def close(self) -> None:
        """No more work: what has not begun never does."""
        with self._lock:
            while not self._tasks.empty():
                if task := self._tasks.get():
                    task[0].cancel()
            for _ in self._threads:
                self._tasks.put(None)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            for _ in self._threads:
                self._tasks.put(None)  # behind all work
            for thread in self._threads:
                thread.join()
        else:
            self.close()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, work = task
            if future.set_running_or_notify_cancel():
                try:
                    found = work()
                except BaseException as error:
                    self._done()
                    future.set_exception(error)
                else:
                    self._done()
                    future.set_result(found)
                    del found  # an answer is not kept while the next task is waited for
            else:
                self._done()
            del task, future, work

    def _done(self) -> None:
        with self._lock:
            self._busy -= 1
