"""Answer requests that repeat a vetted head byte for byte, without parsing them.

A poller sends the same bytes again and again. The ordinary path has parsed such a head once and found that the cache
may answer it. The table remembers the *whole* head, so nothing in it is overlooked but the fields that are known to
differ in each request and to change nothing (`nncache.net.http1.per_request_fields`). For each request only one check
remains: whether entry, grant and gate are still valid (`cache.is_good`).
The table belongs to the cache (`CacheStore.held`): its memory counts there, an answer is removed with its entry, and
the cache alone decides what is evicted.
"""

import hashlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final, cast

from nncache.cache.entries import Hit
from nncache.cache.replies import Shared, StoredReply
from nncache.cache.sizes import blob_bytes
from nncache.cache.store import CacheStore
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.filestatus import render_missing
from nncache.net.http1.head import HARMLESS_FIELDS, is_known_block
from nncache.net.http1.per_request_fields import value_in, without_per_request_fields
from nncache.net.sampling import Sampler
from nncache.proxy.clients.cached_reply import END, KEPT_END, LAST_END, DateText, HitFrame, rest_of_head
from nncache.proxy.identity import caller_in
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import GETFILESTATUS, Exchange, Result

_log = logging.getLogger(__name__)

MAX_HEAD_BYTES: Final = 16_384
"""Longer heads are not remembered. A head of this size has room for a Kerberos ticket of the usual size."""

_DIGEST_BYTES: Final = 32
MAX_FRAMES: Final = 256
MAX_TEXTS: Final = 1_024
"""Number of whole replies kept for the rest of the second, for many clients that poll the same path."""
MAX_TEXT_BYTES: Final = 2_048

_TARGET_STARTS: Final = len(b"GET " + PREFIX.encode())  # where the path starts in a head
_MISSING_START, _, _MISSING_END = render_missing("/").partition(b"/")
_MISSING_REST: Final = len(_MISSING_START) + len(_MISSING_END)


@dataclass(frozen=True, slots=True, kw_only=True)
class FastPathStats:
    """Figures of the table since start, and its present size."""

    hits: int
    heads: int
    bytes_held: int
    evicted: int


class _Answer(Hit):
    """A hit, and the form of its reply.

    `body` is None for the entry's body. Otherwise it is the body itself or, for a 404 that quotes the path as the key
    spells it, the path's length in bytes. `end` is the end of the reply's head; `is_last`: the connection then closes.
    """

    __slots__ = ("body", "end", "frame", "is_last", "text")

    def __init__(
        self,
        hit: Hit,
        key: bytes,
        frame: HitFrame,
        body: bytes | int | None,
        until: float,
        *,
        end: bytes,
    ) -> None:
        expires_at = min(hit.expires_at, until)
        super().__init__(hit.entry, hit.grant, forget_epoch=hit.forget_epoch, expires_at=expires_at, key=key)
        self.frame = frame
        self.body = body
        self.end = end
        self.is_last = end is LAST_END
        self.text: bytes | None = None  # valid in the present second

    @property
    def cost(self) -> int:
        """Size in bytes, without the text of the present second."""
        return super().cost + (blob_bytes(self.body) if isinstance(self.body, bytes) else 0)


class FastPath:
    """The table of heads.

    Invariants:
        F1  A head that may hold a credential is in no key and no answer; a keyed digest replaces it.
        F2  The cache has confirmed each answer as valid (`is_good`) at the moment of the answer.
        F3  About one answer in `sampler.every` is observed, at a random distance from the previous one.
        F4  `_texts` are the answers that hold a text, all of the present second; there are at most `MAX_TEXTS`.
        F5  After an answer, `ends_connection` is true exactly if the answer's head says `Connection: close`.

    Attributes:
        hits: number of requests answered since start.
        sampler: chooses the answers that are observed.
        is_sampled: whether the last answer must be passed to `observe` once it is written.
        ends_connection: whether the connection must close after the last answer.
    """

    def __init__(
        self,
        is_good: Callable[[Hit, float], bool],
        store: CacheStore,
        clock: Callable[[], float],
        limits: LimitSettings,
        observe: Callable[[Exchange], None] = lambda _: None,
    ) -> None:
        """Make an empty table.

        Args:
            is_good: `MetadataCache.is_good`.
            store: the store of the same cache, which holds the answers; only this table may hold any there.
            clock: local time in seconds.
            limits: the ordinary path's limits of a head.
            observe: called with each sampled answer (`Traffic.sampled`).
        """
        self._is_good = is_good
        self._store = store
        self._clock = clock
        self._max_head_bytes = min(MAX_HEAD_BYTES, limits.max_head_bytes)
        self._max_fields = limits.max_header_fields
        self._table = cast("dict[bytes, _Answer]", store.held)
        # The key is secret and of this process: a digest is of no use elsewhere.
        self._keyed = hashlib.sha256(secrets.token_bytes(64))
        self._dates = DateText()
        self._frames: dict[tuple[int, tuple[tuple[bytes, bytes], ...]], HitFrame] = {}
        self._second = -1  # of the local clock, in which `_texts` are valid
        self._texts: list[_Answer] = []
        self._is_by_digest = False  # the last known head was found by its whole digest
        self.hits = 0
        self._observe = observe
        self.sampler = Sampler()
        self._next_sample = 1  # the value of `hits` at the next sample
        self._sampled: tuple[_Answer, float, bytes] | None = None  # the last answer, its time and its text
        self.is_sampled = False
        self.ends_connection = False

    def answer(self, head: bytes) -> bytes | None:
        """Return the reply to a head that is known, apart from per-request fields, and still valid; else None."""
        try:
            # Most requests are like the previous one: with a credential try only the digest, else only the head.
            answer = self._table.get(self._digest(head) if self._is_by_digest else head) or self._found(head)
            if answer is None:
                return None
            now = self._clock()
            if not self._is_good(answer, now):
                self._store.forget_hit(answer)
                return None
            answer.referenced = True
            if int(now) != self._second:
                self._begin_second(now)
            text = answer.text or self._render(answer, now)
        except Exception:  # noqa: BLE001 - FailToNameNode: the ordinary path answers
            _log.exception("internal error in the table of heads")
            return None
        self.ends_connection = answer.is_last
        self.hits += 1
        if self.hits >= self._next_sample:
            self._sampled, self.is_sampled = (answer, now, text), True
        return text

    def _found(self, head: bytes) -> _Answer | None:
        """Return the answer to a head that is not of the same kind as the previous one."""
        answer = self._table.get(head)
        if answer is not None:
            self._is_by_digest = False
            return answer
        if len(head) > self._max_head_bytes:
            return None
        has_token = b"elegation=" in head
        if not has_token and is_known_block(head[head.find(b"\r\n") + 2 :]):
            return None  # it has no per-request field and no credential
        # Most heads with a credential have no per-request field: a digest costs half of a search for these.
        is_tried = has_token or b"ookie:" in head
        if is_tried and (answer := self._table.get(self._digest(head))) is not None:
            self._is_by_digest = True
            return answer
        return self._known_otherwise(head, is_tried=is_tried)

    def _known_otherwise(self, head: bytes, *, is_tried: bool) -> _Answer | None:
        """Return the answer to a head without its per-request fields.

        `is_tried`: the whole head's digest was not found.
        """
        kept = without_per_request_fields(head, max_fields=self._max_fields)
        if kept is head:
            return None if is_tried else self._table.get(self._digest(head))
        return self._table.get(kept) or self._table.get(self._digest(kept))

    def observe(self, head: bytes, peer: str) -> None:
        """Pass the last answer to the observers, after it was written."""
        sampled, self._sampled, self.is_sampled = self._sampled, None, False
        assert sampled is not None
        answer, started, text = sampled
        exchange = Exchange("GET", head[4 : head.index(b" ", 4)].decode("latin-1"), peer, started)
        exchange.operation, exchange.result, exchange.weight = GETFILESTATUS, Result.HIT, self.sampler.every
        exchange.take_ids(partial(value_in, head))
        if b"ookie:" in head:
            exchange.caller = caller_in(head, exchange.target)
        exchange.status = answer.entry.reply.status
        exchange.body_bytes = len(text) - text.index(b"\r\n\r\n") - 4
        self._next_sample = self.sampler.next(self.hits, started)
        self._observe(exchange)

    def forget_all(self) -> None:
        """Forget all heads, so that the ordinary path reads each again. Costs time linear in their number."""
        for answer in tuple(self._store.held.values()):
            self._store.forget_hit(answer)

    def remember(
        self,
        head: bytes,
        hit: Hit,
        body: bytes,
        until: float = inf,
        is_last: bool = False,  # noqa: FBT001, FBT002 - a `Remember`
    ) -> None:
        """Remember the answer to a head that the ordinary path has vetted and answered with this body.

        Args:
            head: the request's head.
            hit: the hit that answered it.
            body: the answer's body.
            until: the local time from which the head must be vetted again.
            is_last: the connection closes after the answer.
        """
        reply = hit.entry.reply
        # Header fields that no other reply shares would need a frame of their own.
        if len(head) > self._max_head_bytes or hit.entry.shared is Shared.NOTHING:
            return
        kept = without_per_request_fields(head, max_fields=self._max_fields)
        key = kept if is_harmless(kept) else self._digest(kept)
        end = END
        if is_last:
            end = LAST_END
        elif kept.partition(b"\r\n")[0].endswith(b" HTTP/1.0"):
            end = KEPT_END
        rest: bytes | int | None = body
        if body == reply.body:
            rest = None
        elif key is kept and _quotes(kept, body):
            rest = len(body) - _MISSING_REST
        self._store.hold(_Answer(hit, key, self._frame(reply), rest, until, end=end))

    def stats(self) -> FastPathStats:
        """Return the figures since start."""
        return FastPathStats(
            hits=self.hits,
            heads=len(self._table),
            bytes_held=self._store.held_bytes,
            evicted=self._store.hits_evicted,
        )

    def check(self) -> None:
        """Assert F1, F4 and the limit of the frames."""
        assert len(self._frames) <= MAX_FRAMES
        assert all(is_harmless(key) for key in self._table if len(key) != _DIGEST_BYTES)
        assert len(self._texts) <= MAX_TEXTS
        assert all(answer in self._texts for answer in self._table.values() if answer.text is not None)

    def _digest(self, head: bytes) -> bytes:
        """Return the key of a head with a credential: SHA-256 after a secret block, twice as fast as keyed BLAKE2b."""
        digest = self._keyed.copy()
        digest.update(head)
        return digest.digest()

    def _frame(self, reply: StoredReply) -> HitFrame:
        kind = reply.status, reply.headers
        frame = self._frames.get(kind)
        if frame is None:
            if len(self._frames) >= MAX_FRAMES:
                self._frames.clear()  # of earlier NameNodes, mostly; answers in use keep theirs
            frame = self._frames[kind] = HitFrame(reply)
        return frame

    def _begin_second(self, now: float) -> None:
        """Drop the texts of the previous second."""
        self._second = int(now)
        for answer in self._texts:
            answer.text = None
        self._texts.clear()

    def _render(self, answer: _Answer, now: float) -> bytes:
        start, age_s, body = answer.frame.at(now, self._dates), now - answer.entry.confirmed_at, answer.body
        if isinstance(body, int):
            quoted = answer.key[_TARGET_STARTS : _TARGET_STARTS + body]
            rest = rest_of_head(age_s, _MISSING_REST + body, answer.end)
            text = b"".join((start, rest, _MISSING_START, quoted, _MISSING_END))
        else:
            if body is None:
                body = answer.entry.reply.body
            text = b"".join((start, rest_of_head(age_s, len(body), answer.end), body))
        if len(self._texts) < MAX_TEXTS and len(text) <= MAX_TEXT_BYTES:
            answer.text = text
            self._texts.append(answer)
        return text


def is_harmless(head: bytes) -> bool:
    """Whether a head of a plain read certainly carries no credential, so that it may be kept in clear."""
    line, *fields = head.splitlines()
    if b"delegation=" in line.lower():
        return False
    return all(field.partition(b":")[0].strip().lower() in HARMLESS_FIELDS for field in fields if field)


def _quotes(head: bytes, body: bytes) -> bool:
    """Whether the body is a missing path's, and the head spells the path exactly as the body does."""
    if not (body.startswith(_MISSING_START) and body.endswith(_MISSING_END)):
        return False
    return head.startswith(body[len(_MISSING_START) : -len(_MISSING_END)], _TARGET_STARTS)
