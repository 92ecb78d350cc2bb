"""The results of polls, in columns.

Arrays of numbers, since one process collects millions of polls: about 60 bytes each.
"""

from array import array
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from nncache.bench.polling.replies import PollReply, digest_of, file_id_of
from nncache.bench.shared.tables import FAILED, POLLS

_KINDS: Final = "iidddhqqh"  # of the columns of POLLS up to `served`, as `array` names them
BATCH: Final = 50_000  # rows of one Arrow batch


class Rows:
    """One row for each poll, in the order of completion."""

    def __init__(self) -> None:
        self.polls = 0  # number of rows
        # the column `served` holds numbers of words in _words
        self._columns: tuple[array[Any], ...] = tuple(array(kind) for kind in _KINDS)
        self._words: dict[str, int] = {"": 0}
        self._errors: dict[int, str] = {}  # by row

    def add_reply(
        self, poller: int, path_id: int, due_s: float, sent_s: float, replied_s: float, reply: PollReply
    ) -> None:
        """Append an answered poll."""
        status, served, body = reply[:3]
        word = self._words.setdefault(served, len(self._words))
        times = due_s, sent_s, replied_s
        self._add(poller, path_id, *times, status, digest_of(status, body), file_id_of(body), word)

    def add_failure(
        self, poller: int, path_id: int, due_s: float, sent_s: float, failed_s: float, error: str
    ) -> None:
        """Append a poll without a reply; `sent_s` is NaN if it was never sent."""
        self._errors[self.polls] = error
        self._add(poller, path_id, due_s, sent_s, failed_s, FAILED, 0, 0, 0)

    def batches(self, clock_error_s: float) -> Iterator[pa.RecordBatch]:
        """Yield all rows with the columns of `POLLS`."""
        words = pa.array(list(self._words), pa.string())
        for start in range(0, self.polls, BATCH):
            end = min(start + BATCH, self.polls)
            *numbers, served = (pa.array(column[start:end]) for column in self._columns)
            errors = pa.array([self._errors.get(row) for row in range(start, end)], pa.string())
            clock = pa.array([clock_error_s] * (end - start), pa.float32())
            columns = [*numbers, words.take(served), errors, clock]
            yield pa.RecordBatch.from_arrays(
                [column.cast(kind) for column, kind in zip(columns, POLLS.types, strict=True)], schema=POLLS
            )

    def _add(self, *values: float) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self.polls += 1
