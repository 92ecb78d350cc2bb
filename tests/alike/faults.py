"""Faults planted in the table of known heads and in direct calls, one line each, which must be seen.

`python -m tests.alike.faults NAME` compares with one of them, in a process of its own.
"""

import signal
import sys
from types import FrameType
from typing import Final, NoReturn

from tests.model.guarantee import Guarantee
from tests.model.variants import patching
from tests.model.variants.variant import Variant

REQUESTS: Final = 100_000
"""Each fault is seen within this number of requests."""

_PATIENCE_S: Final = 300
"""Seconds after which a conversation is aborted: a broken product may never end one."""


def _fault(name: str, rule: str, module: str, old: str, new: str) -> Variant:
    return Variant(
        name=name, guarantee=Guarantee.VERBATIM, rule=rule, module=f"{module}.py", old=old, new=new
    )


FAULTS: Final = {
    fault.name: fault
    for fault in (
        _fault(
            "credential-left-out",
            "A credential is part of the key.",
            "net/http1/per_request_fields",
            '    "baggage",',
            '    "authorization",',
        ),
        _fault(
            "folded-field-left-out",
            "A field that goes on in the next line is not left out.",
            "net/http1/per_request_fields",
            r'"):[\t\x20-\x7e]*(?=\r\n)"',
            r'"):[\t\x20-\x7e]*(?:\r\n[\t ][\t\x20-\x7e]*)*(?=\r\n)"',
        ),
        _fault(
            "any-value-left-out",
            "A field is left out only if all of its value can be printed.",
            "net/http1/per_request_fields",
            r'"):[\t\x20-\x7e]*(?=\r\n)"',
            r'"):[^\r]*(?=\r\n)"',
        ),
        _fault(
            "two-heads-as-one",
            "Fields are left out of one head only.",
            "net/http1/per_request_fields",
            'return head.startswith(b"GET ") and head.find(_END) == len(head) - len(_END)',
            'return head.startswith(b"GET ")',
        ),
        _fault(
            "too-many-fields",
            "Fields that are left out are counted.",
            "net/http1/per_request_fields",
            'head.count(b"\\r\\n") > max_fields + 2',
            'kept.count(b"\\r\\n") > max_fields + 2',
        ),
        _fault(
            "target-of-any-case",
            "Upper and lower case are part of the key.",
            "net/http1/per_request_fields",
            '_LINE.subn(b"", head)',
            '_LINE.subn(b"", head.lower().replace(b"get ", b"GET ", 1))',
        ),
        _fault(
            "length-not-asked",
            "A head that is too long is left to the ordinary path.",
            "proxy/clients/fastpath",
            "        if len(head) > self._max_head_bytes:\n            return None\n        has_",
            "        if len(head) > MAX_HEAD_BYTES:\n            return None\n        has_",
        ),
        _fault(
            "open-behind-the-last",
            "A connection ends behind a remembered answer whose head says so.",
            "proxy/clients/fastpath",
            "self.ends_connection = answer.is_last",
            "self.ends_connection = False",
        ),
        _fault(
            "good-not-asked",
            "What is known is asked for each request whether it is still good.",
            "proxy/clients/fastpath",
            "if not self._is_good(answer, now):",
            "if not self._is_good(answer, now) and now < 0:",
        ),
        _fault(
            "text-of-another-second",
            "A text is kept for its second only.",
            "proxy/clients/fastpath",
            "if int(now) != self._second:",
            "if int(now) > self._second + 1:",
        ),
        _fault(
            "path-quoted-as-it-came",
            "A missing path is quoted as the ordinary path quotes it.",
            "proxy/clients/fastpath",
            "return head.startswith(body[len(_MISSING_START) : -len(_MISSING_END)], _TARGET_STARTS)",
            "return head.startswith(b'GET ')",
        ),
        _fault(
            "close-left-out",
            "`Connection: close` is part of the key.",
            "net/http1/per_request_fields",
            '    "baggage",',
            '    "connection",',
        ),
        _fault(
            "old-version",
            "A request of HTTP/1.0 is remembered as the last of its connection.",
            "proxy/decide/answers",
            "is_last = request.repeatable is None",
            "is_last = False",
        ),
        _fault(
            "old-version-kept",
            "An answer to HTTP/1.0 says that the connection goes on.",
            "proxy/clients/fastpath",
            "end = KEPT_END",
            "end = END",
        ),
        _fault(
            "part-of-a-head-held",
            "Nothing is answered at once behind a part of a head.",
            "proxy/clients/connection",
            "if self._is_busy or self._incoming:",
            "if self._is_busy:",
        ),
        _fault(
            "request-in-progress",
            "Nothing is answered at once while a request is in progress.",
            "proxy/clients/connection",
            "if self._is_busy or self._incoming:",
            "if self._incoming:",
        ),
        _fault(
            "last-piece-as-head",
            "What came is begun, and remembered, as a whole head only if it is one.",
            "proxy/clients/connection",
            "        if is_one_head(data):",
            '        if data.startswith(b"GET "):',
        ),
        _fault(
            "answered-behind-a-refusal",
            "Nothing is answered on a connection that is closing.",
            "proxy/clients/connection",
            "        if self._is_ending:\n            return\n        if self._is_busy",
            "        if False:\n            return\n        if self._is_busy",
        ),
        _fault(
            "answered-while-paused",
            "Nothing is answered at once while the client does not read.",
            "proxy/clients/connection",
            "        if self.is_paused:\n            return False",
            "        if self._is_ending:\n            return False",
        ),
        _fault(
            "use-not-noted",
            "A known request counts against the idle timeout.",
            "proxy/clients/connection",
            "        self._used_at = self._loop.time()\n        transport.write(reply)",
            "        transport.write(reply)",
        ),
        _fault(
            "begun-in-part",
            "All bytes that are not known are read.",
            "proxy/clients/connection",
            "            self._incoming.add(data)\n            self._begin_next()\n\n",
            "            self._incoming.add(data[:200])\n            self._begin_next()\n\n",
        ),
        _fault(
            "access-time-untold",
            "A read that may change something needs a task.",
            "proxy/decide/direct_calls",
            "            if not changes_nothing(call):",
            "            if not call.is_read:",
        ),
        _fault(
            "path-not-shown",
            "Cache-Status says the same of a path that is shown.",
            "proxy/decide/answers",
            "(forwarded(why, is_shown=shows_path(reply.status, reply.body)),)",
            "(forwarded(why, is_shown=False),)",
        ),
        _fault(
            "call-counted-twice",
            "A call that is handed over is not counted any more by the one who hands it over.",
            "proxy/decide/direct_calls",
            "is None else self._left().hand_over()",
            "is None else self._exchange.hand_over()",
        ),
        _fault(
            "reason-not-counted",
            "A call counts among those that were forwarded, by reason.",
            "proxy/decide/answers",
            'has left no trace."""\n        self.note_forwarded(exchange, why)',
            'has left no trace."""\n        exchange.why = why',
        ),
        _fault(
            "miss-of-who-wants-a-fresh-answer",
            "A request for a fresh answer is none for what may be kept.",
            "proxy/decide/direct_calls",
            "refresh=reading.refresh",
            "refresh=False",
        ),
        _fault(
            "closed-file-not-waited-for",
            "A client waits for what the cache makes of its reply.",
            "proxy/decide/direct_calls",
            "        if self._flight.done.done():\n            self._end()",
            "        if self._flight.answered.done():\n            self._end()",
        ),
        _fault(
            "kept-but-not-said",
            "Cache-Status says whether the reply is kept.",
            "proxy/decide/direct_calls",
            "from_namenode(self._asked, self._reply, result)",
            "from_namenode(self._asked, self._reply, result and None)",
        ),
        _fault(
            "miss-ends-with-its-client",
            "What may be kept is read to its end, also for others than the one who asked.",
            "proxy/decide/direct_calls",
            "        if self._reply is None:\n            self._go_on()",
            "        if self._reply is None:\n            self._left().abandon()",
        ),
        _fault(
            "miss-asked-twice",
            "A question that was sent is not sent again when it is handed over.",
            "proxy/decide/direct_calls",
            "self._left().hand_over())",
            "self._left().hand_over().abandon())",
        ),
        _fault(
            "body-cut-at-a-piece",
            "A reply is sent on when it is whole.",
            "proxy/upstream/namenode_protocol",
            "ReplyProgress.WHOLE if body.is_over else ReplyProgress.MORE",
            "ReplyProgress.WHOLE",
        ),
        _fault(
            "cookie-of-a-kind-lost",
            "A reply of a known kind is passed on with its own cookie.",
            "proxy/headers",
            "WireFields(wire.start, cookie, wire.end, wire.replayed)",
            "wire",
        ),
        _fault(
            "standby-passed-on",
            "A standby's reply is for the handler.",
            "proxy/upstream/direct_exchange",
            "head.status != HTTPStatus.FORBIDDEN and head.is_json",
            "head.is_json",
        ),
        _fault(
            "first-piece-lost",
            "What came of a reply is handed over with its connection.",
            "proxy/upstream/direct_exchange",
            "        return StartedCall(SentCall(self._release()",
            "        self._connection.protocol.body.take()\n        return StartedCall(SentCall(self._release()",
        ),
        _fault(
            "asked-twice",
            "A call that was sent is not sent again when it is handed over.",
            "proxy/clients/connection",
            "call.request.begun = call.hand_over()",
            "call.hand_over().abandon()",
        ),
        _fault(
            "next-request-lost",
            "What comes while a call is under way is served after it.",
            "proxy/clients/connection",
            "        if self._incoming:\n            self._begin_next()",
            "        if self._incoming.take():\n            self._begin_next()",
        ),
        _fault(
            "half-closed-without-a-reply",
            "A call under way is answered also if the client says that it sends nothing more.",
            "proxy/clients/connection",
            "        if not self._is_busy:\n            self._owner.end_soon",
            "        if self._request is None:\n            self._owner.end_soon",
        ),
    )
}


def main(name: str, requests: int) -> int:
    """Compare; print the result, and return 0 if there was a difference."""
    patching.install(FAULTS[name])
    from tests.alike import run  # noqa: PLC0415 - imports the product, so not before it is broken

    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_PATIENCE_S)
    figures = run.compare(requests=requests, seed=1)
    sys.stdout.write(f"{figures.line()}\n{figures.difference or 'no difference'}\n")
    for step in figures.reported:
        sys.stdout.write(f"  {step}\n")
    return not figures.difference


def _give_up(_: int, __: FrameType | None) -> NoReturn:
    raise TimeoutError("a conversation did not end")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else REQUESTS))
