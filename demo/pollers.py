"""Clients that ask the same again and again, as those that nncache is made for do. (demo/pollers.py)"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from nncache.demo.reader import Reader
from nncache.demo.sightings import Question, Record, Sighting

INTERVAL_S: Final = 0.01
"""Between two reads of one poller: small beside what the story measures, little work for two cores."""

_LOOK_S: Final = 0.005  # between two looks at what they saw


class Pollers:
    """One thread for each question given (one may be given twice), while entered as an async context.

    `records` can be read at any time and stay when the context ends; no read is under way after that.
    """

    def __init__(self, address: str, questions: Sequence[Question]) -> None:
        self._address = address
        self._ending = threading.Event()
        self._seen: tuple[list[Sighting], ...] = tuple([] for _ in questions)  # each its own thread's to fill
        self.records = tuple(
            Record(question, seen) for question, seen in zip(questions, self._seen, strict=True)
        )
        self._threads = [
            threading.Thread(
                target=self._poll,
                args=(question, seen, INTERVAL_S * number / len(questions)),
                name=f"poller {number} {question.user}",
                daemon=True,
            )
            for number, (question, seen) in enumerate(zip(questions, self._seen, strict=True))
        ]

    async def __aenter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    async def until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for a condition on what they saw; False when the time was not enough."""
        try:
            async with asyncio.timeout(timeout_s):
                while not condition():  # noqa: ASYNC110 - threads bring it about, and know no event of this loop
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            return False
        return True

    def _poll(self, question: Question, seen: list[Sighting], first_in_s: float) -> None:
        due = time.monotonic() + first_in_s  # spread over the interval: together they look often
        with Reader(self._address) as reader:
            while not self._ending.wait(max(0.0, due - time.monotonic())):
                seen.append(reader.read(question))
                due = max(due + INTERVAL_S, time.monotonic())
