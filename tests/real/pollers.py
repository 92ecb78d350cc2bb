"""Clients that read continuously during a fault, and keep all replies."""

import http.client
import threading
from dataclasses import dataclass
from typing import Self

from nncache.testbed.asker import Asker, RawReply
from tests.auth_methods import USER_NAME, AuthMethod


@dataclass(frozen=True, slots=True)
class Failure:
    """A read without a reply."""

    error: str


class Pollers:
    """A thread per pair of path and user that polls during the `with` block.

    A poller pauses `period_s` between two reads, which limits the load. `way` is the authentication method.
    """

    def __init__(
        self,
        address: str,
        asked: list[tuple[str, str]],
        *,
        period_s: float = 0.005,
        way: AuthMethod = USER_NAME,
    ) -> None:
        self._address = address
        self._way = way
        self._period_s = period_s
        self._ending = threading.Event()
        self.failures: list[Failure] = []
        self.seen: dict[tuple[str, str], list[RawReply]] = {pair: [] for pair in asked}
        self._threads = [threading.Thread(target=self._poll, args=pair, daemon=True) for pair in asked]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _poll(self, path: str, user: str) -> None:
        signature = self._way.of(user)
        target = signature.target(path)
        with Asker(self._address) as asker:
            while not self._ending.wait(self._period_s):
                try:
                    self.seen[path, user].append(asker.ask("GET", target, headers=signature.headers))
                except (OSError, http.client.HTTPException) as error:
                    self.failures.append(Failure(f"{path} for {user}: {error!r}"))

    def await_hits(self, *, after: float, timeout_s: float) -> float:
        """Wait until every poller has had a hit on a read that began after this time.

        Returns the `time.monotonic()` of the last of these hits.

        Raises:
            AssertionError: it took too long.
        """
        waited = threading.Event()
        for _ in range(int(timeout_s / 0.01)):
            first = [
                next((r.ended_at for r in reversed(seen) if r.is_hit and r.started_at > after), None)
                for seen in self.seen.values()
            ]
            if all(at is not None for at in first):
                return max(at for at in first if at is not None)
            waited.wait(0.01)
        raise AssertionError(f"not every poller was answered from memory again within {timeout_s} s")

    def failed(self) -> list[str]:
        """Return the failed reads: those without a reply, and those with a 5xx of the proxy or the NameNode."""
        errors = [
            f"{pair}: {reply.status} {reply.body!r}"
            for pair, seen in self.seen.items()
            for reply in seen
            if reply.status >= 500
        ]
        return [*(failure.error for failure in self.failures), *errors]

    def older_than(self, bound_s: float, *, path: str, changed_at: float, old_status: int) -> list[float]:
        """Return the ages beyond the bound at which a path's old status was still answered."""
        ages = [
            reply.started_at - changed_at
            for (asked, _), seen in self.seen.items()
            if asked == path
            for reply in seen
            if reply.status == old_status
        ]
        return [age for age in ages if age > bound_s]
