"""An access log: which requests are in it, and how."""

import random
from collections.abc import Callable
from typing import Final

from nncache.clock import unix_time_of_boot
from nncache.proxy.traffic import Exchange, Result
from nncache.request_logs.access_lines import combined, json_line
from nncache.request_logs.line_writer import LineWriter
from nncache.request_logs.settings import AccessLogFormat

_LINES: Final[dict[AccessLogFormat, Callable[[Exchange, int, float], bytes]]] = {
    "combined": combined,
    "json": json_line,
}


class AccessLog:
    """Writes a line for each request but most hits, if only one in `sample` is wanted.

    Invariant:
        A1  The weights of the lines of hits add up, on average, to the number of hits: one that stands for `weight`
            hits already is written with the probability `weight / sample`, and stands for `sample` of them then.
    """

    def __init__(
        self,
        writer: LineWriter,
        log_format: AccessLogFormat,
        sample: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._writer = writer
        self._line = _LINES[log_format]
        self._sample = sample
        self._chance = chance  # from 0 to 1

    def answered(self, exchange: Exchange) -> None:
        """Write the line, or leave it out."""
        weight = exchange.weight
        if exchange.result is Result.HIT and weight < self._sample:
            if self._chance() * self._sample >= weight:
                return
            weight = self._sample
        began_at = unix_time_of_boot() + exchange.started
        self._writer.write(self._line(exchange, weight, began_at))
