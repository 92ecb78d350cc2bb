"""What pollers saw, gathered in columns.

Arrays of numbers, since one process gathers millions of polls: about 60 bytes each.
"""

from array import array
from collections.abc import Iterator
from math import nan
from typing import Final

import pyarrow as pa

from nncache.bench.polling.replies import Reply, digest_of, file_id_of
from nncache.bench.shared.tables import FAILED, POLLS

BATCH: Final = 50_000  # rows of one Arrow batch


class Rows:
    """One row for each poll, in the order in which they ended."""

    def __init__(self) -> None:
        self.polls = 0  # how many there are
        self._pollers, self._paths = array("i"), array("i")
        self._due, self._sent, self._replied = array("d"), array("d"), array("d")
        self._statuses, self._digests, self._file_ids = array("h"), array("q"), array("q")
        self._served = array("h")  # numbers of the words in _words
        self._words: dict[str, int] = {"": 0}
        self._errors: dict[int, str] = {}  # by row

    def add_reply(
        self, poller: int, path_id: int, due_s: float, sent_s: float, replied_s: float, reply: Reply
    ) -> None:
        """Add a poll that was answered."""
        status, served, body = reply[:3]
        self._times(poller, path_id, due_s, sent_s, replied_s)
        self._statuses.append(status)
        self._digests.append(digest_of(status, body))
        self._file_ids.append(file_id_of(body))
        words = self._words
        self._served.append(words[served] if served in words else words.setdefault(served, len(words)))

    def add_failure(
        self, poller: int, path_id: int, due_s: float, sent_s: float, failed_s: float, error: str
    ) -> None:
        """Add a poll that got no reply."""
        self._errors[self.polls] = error
        self._times(poller, path_id, due_s, sent_s, failed_s)
        self._statuses.append(FAILED)
        self._digests.append(0)
        self._file_ids.append(0)
        self._served.append(0)

    def add_unsent(self, poller: int, path_id: int, due_s: float, given_up_s: float) -> None:
        """Add a poll that was due, but was never sent."""
        self.add_failure(poller, path_id, due_s, nan, given_up_s, "not sent")

    def batches(self, clock_error_s: float) -> Iterator[pa.RecordBatch]:
        """Yield all rows with the columns of `POLLS`."""
        words = pa.array(list(self._words), pa.string())
        for start in range(0, self.polls, BATCH):
            end = min(start + BATCH, self.polls)
            numbers = (
                _column(self._pollers[start:end], pa.int32()),
                _column(self._paths[start:end], pa.int32()),
                _column(self._due[start:end], pa.float64()),
                _column(self._sent[start:end], pa.float64()),
                _column(self._replied[start:end], pa.float64()),
                _column(self._statuses[start:end], pa.int16()),
                _column(self._digests[start:end], pa.int64()),
                _column(self._file_ids[start:end], pa.int64()),
            )
            served = words.take(_column(self._served[start:end], pa.int16()))
            errors = pa.array([self._errors.get(row) for row in range(start, end)], pa.string())
            clock = pa.array([clock_error_s] * (end - start), pa.float32())
            yield pa.RecordBatch.from_arrays([*numbers, served, errors, clock], schema=POLLS)

    def _times(self, poller: int, path_id: int, due_s: float, sent_s: float, ended_s: float) -> None:
        self.polls += 1
        self._pollers.append(poller)
        self._paths.append(path_id)
        self._due.append(due_s)
        self._sent.append(sent_s)
        self._replied.append(ended_s)


def _column(values: "array[int] | array[float]", kind: pa.DataType) -> pa.Array:
    """Return an array of the same numbers, whose type has the same size."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
