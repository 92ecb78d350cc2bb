"""Ask the proxy as a client would, and note what was seen. (demo/reader.py)"""

import http.client
import time
from types import TracebackType
from typing import Self

from nncache.demo.sightings import Question, Sighting, View
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.filestatus import FileType, parse_file_status
from nncache.testbed.asker import Asker, RawReply


class Reader:
    """One client with a connection of its own. Not for two threads at once."""

    def __init__(self, address: str) -> None:
        self._asker = Asker(address)

    def read(self, question: Question) -> Sighting:
        """Ask once; without an answer the sighting says so."""
        started_at = time.monotonic()
        try:
            reply = self._asker.ask("GET", question.target)
        except (OSError, http.client.HTTPException):
            return Sighting(view=View(0), is_hit=False, started_at=started_at, ended_at=time.monotonic())
        return Sighting(
            view=view_of(reply), is_hit=reply.is_hit, started_at=reply.started_at, ended_at=reply.ended_at
        )

    def close(self) -> None:
        """Close the connection."""
        self._asker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def view_of(reply: RawReply) -> View:
    """Return what a reply to GETFILESTATUS says; a 200 that can't be read counts as no answer."""
    if reply.status != http.client.OK:
        return View(reply.status)
    try:
        status = parse_file_status(reply.body)
    except HadoopError:
        return View(0)
    return View(reply.status, status.length if status.type is FileType.FILE else None)
