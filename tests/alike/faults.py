"""Faults that were planted in the quick ways, one line each, and must be seen.

`python -m tests.alike.faults NAME` compares with one of them in force, in a process of its own.
"""

import signal
import sys
from types import FrameType
from typing import Final, NoReturn

from tests.model.guarantee import Guarantee
from tests.model.variants import patching
from tests.model.variants.variant import Variant

REQUESTS: Final = 100_000
"""Within so many each is seen."""

_PATIENCE_S: Final = 300
"""A broken product may never end a conversation; that is seen as well."""


def _fault(name: str, rule: str, module: str, old: str, new: str) -> Variant:
    path = f"proxy/{module}.py"
    return Variant(name=name, guarantee=Guarantee.VERBATIM, rule=rule, module=path, old=old, new=new)


FAULTS: Final = {
    fault.name: fault
    for fault in (
        _fault(
            "credential-left-out",
            "A credential is part of the key.",
            "clients/per_request_fields",
            '    "baggage",',
            '    "authorization",',
        ),
        _fault(
            "folded-field-left-out",
            "A field that goes on in the next line is not left out.",
            "clients/per_request_fields",
            r'"):[\t\x20-\x7e]*(?=\r\n)"',
            r'"):[\t\x20-\x7e]*(?:\r\n[\t ][\t\x20-\x7e]*)*(?=\r\n)"',
        ),
        _fault(
            "any-value-left-out",
            "A field is left out only if all of its value can be printed.",
            "clients/per_request_fields",
            r'"):[\t\x20-\x7e]*(?=\r\n)"',
            r'"):[^\r]*(?=\r\n)"',
        ),
        _fault(
            "two-heads-as-one",
            "Fields are left out of one head only.",
            "clients/per_request_fields",
            'return head.startswith(b"GET ") and head.find(_END) == len(head) - len(_END)',
            'return head.startswith(b"GET ")',
        ),
        _fault(
            "too-many-fields",
            "Fields that are left out are counted.",
            "clients/per_request_fields",
            'head.count(b"\\r\\n") > max_fields + 2',
            'kept.count(b"\\r\\n") > max_fields + 2',
        ),
        _fault(
            "target-of-any-case",
            "Upper and lower case are part of the key.",
            "clients/per_request_fields",
            '_LINE.subn(b"", head)',
            '_LINE.subn(b"", head.lower().replace(b"get ", b"GET ", 1))',
        ),
        _fault(
            "length-not-asked",
            "A head that is too long is left to the ordinary path.",
            "clients/fastpath",
            "        if len(head) > self._max_head_bytes or _may_be_last(head):\n            return None\n        has_",
            "        if len(head) > MAX_HEAD_BYTES or _may_be_last(head):\n            return None\n        has_",
        ),
        _fault(
            "length-of-the-last-not-asked",
            "Nor is a head that is too long answered with the last reply of its connection.",
            "clients/fastpath",
            "        if len(head) > self._max_head_bytes or not _may_be_last(head):",
            "        if not _may_be_last(head):",
        ),
        _fault(
            "good-not-asked",
            "What is known is asked for each request whether it is still good.",
            "clients/fastpath",
            "if not self._is_good(answer, now):",
            "if not self._is_good(answer, now) and now < 0:",
        ),
        _fault(
            "text-of-another-second",
            "A text is kept for its second only.",
            "clients/fastpath",
            "if int(now) != self._second:",
            "if int(now) > self._second + 1:",
        ),
        _fault(
            "path-quoted-as-it-came",
            "A missing path is quoted as the ordinary path quotes it.",
            "clients/fastpath",
            "return head.startswith(body[len(_MISSING_START) : -len(_MISSING_END)], _TARGET_STARTS)",
            "return head.startswith(b'GET ')",
        ),
        _fault(
            "close-left-out",
            "`Connection: close` is part of the key.",
            "clients/per_request_fields",
            '    "baggage",',
            '    "connection",',
        ),
        _fault(
            "old-version",
            "A request of HTTP/1.0 is remembered as the last of its connection.",
            "answers",
            "is_last = request.repeatable is None",
            "is_last = False",
        ),
        _fault(
            "part-of-a-head-held",
            "Nothing is answered at once behind a part of a head.",
            "clients/connection",
            "if self._is_busy or self._incoming:",
            "if self._is_busy:",
        ),
        _fault(
            "request-in-progress",
            "Nothing is answered at once while a request is in progress.",
            "clients/connection",
            "if self._is_busy or self._incoming:",
            "if self._incoming:",
        ),
        _fault(
            "last-piece-as-head",
            "What is remembered is the whole head, not the piece that ends it.",
            "clients/connection",
            "self._begin(head, whole=alone if is_alone else None)",
            "self._begin(head, whole=alone)",
        ),
        _fault(
            "answered-behind-a-refusal",
            "Nothing is answered on a connection that is closing.",
            "clients/connection",
            "        if self._is_ending:\n            return\n        if self._is_busy",
            "        if False:\n            return\n        if self._is_busy",
        ),
        _fault(
            "answered-while-paused",
            "Nothing is answered at once while the client does not read.",
            "clients/connection",
            "        if not self.is_paused:\n            reply",
            "        if not self._is_ending:\n            reply",
        ),
        _fault(
            "use-not-noted",
            "A known request counts against the idle timeout.",
            "clients/connection",
            "                self._used_at = self._loop.time()\n                transport.write(reply)",
            "                transport.write(reply)",
        ),
        _fault(
            "begun-in-part",
            "All bytes that are not known are read.",
            "clients/connection",
            "        self._incoming.add(data)\n        if self._owner",
            "        self._incoming.add(data[:200])\n        if self._owner",
        ),
        _fault(
            "field-not-forwarded",
            "All fields of a plain call go to the NameNode but those of the connection.",
            "plain_blocks",
            'request_headers(fields, "")[:-1]',
            'request_headers(fields, "")[1:-1]',
        ),
        _fault(
            "address-not-told",
            "The NameNode is told the client's address.",
            "plain_calls",
            "% (read.line, read.text, peer_text)",
            '% (read.line, read.text, b"127.0.0.1")',
        ),
        _fault(
            "status-past-the-cache",
            "A plain GETFILESTATUS is the cache's if it may keep it.",
            "plain_targets",
            "return PlainTarget(target, plain, Bypass.NOT_PLAIN,",
            "return PlainTarget(target, None, Bypass.NOT_PLAIN,",
        ),
        _fault(
            "access-time-untold",
            "A read that may change something is no plain call.",
            "plain_targets",
            "if not changes_nothing(call):",
            "if not call.is_read:",
        ),
        _fault(
            "path-not-shown",
            "Cache-Status says the same of a path that is shown.",
            "plain_calls",
            "is_shown=shows_path(reply.status, reply.body))",
            "is_shown=reply.status == 0)",
        ),
        _fault(
            "call-counted-twice",
            "A call that is handed over is not counted any more by the one who hands it over.",
            "plain_calls",
            "        self._calls.left(self._holder, self._seen.caller)",
            "        self._calls.under_way -= 1",
        ),
        _fault(
            "reason-not-counted",
            "A plain call counts among those that were forwarded, by reason.",
            "plain_calls",
            "        self._count(seen, why)",
            "        _ = why",
        ),
        _fault(
            "miss-of-who-wants-a-fresh-answer",
            "A request for a fresh answer is none for what may be kept.",
            "plain_fills",
            "refresh=question.is_fresh)",
            "refresh=False)",
        ),
        _fault(
            "closed-file-not-waited-for",
            "A client waits for what the cache makes of its reply.",
            "plain_fills",
            "        if flight.done.done():\n            self._end()",
            "        if flight.answered.done():\n            self._end()",
        ),
        _fault(
            "kept-but-not-said",
            "Cache-Status says whether the reply is kept.",
            "plain_fills",
            "        return is_stored\n",
            "        return False\n",
        ),
        _fault(
            "miss-ends-with-its-client",
            "What may be kept is read to its end, also for others than the one who asked.",
            "plain_fills",
            "        asked = self._go_on()\n        self._client = None",
            "        asked = (self._exchange and self._exchange.abandon()) or self._asked\n        self._client = None",
        ),
        _fault(
            "miss-asked-twice",
            "A question that was sent is not sent again when it is handed over.",
            "plain_fills",
            "exchange.hand_over())",
            "exchange.abandon())",
        ),
        _fault(
            "miss-counted-twice",
            "A question that is handed over is counted by those who go on with it.",
            "plain_fills",
            "        asked = self._go_on()\n        self._is_over = True",
            "        asked = self._go_on()\n        self._is_over = False",
        ),
        _fault(
            "field-of-a-kept-reply-lost",
            "All fields of a reply are kept that an answer from memory repeats.",
            "upstream/plain_reply",
            "headers = tuple([field.field for field in fields])",
            "headers = tuple([field.field for field in fields[1:]])",
        ),
        _fault(
            "body-cut-at-a-piece",
            "A reply is sent on when it is whole.",
            "upstream/plain_reply",
            "return NotWhole.MORE if missing else data[begin:]",
            "return data[begin:]",
        ),
        _fault(
            "standby-passed-on",
            "A standby's reply is for the ordinary path.",
            "upstream/plain_reply",
            "frozenset({204, 304, 403})",
            "frozenset({204, 304})",
        ),
        _fault(
            "field-of-a-reply-lost",
            "Of a reply's fields only the one that frames its body is left out.",
            "upstream/plain_reply",
            "del fields[at], lines[at + 1]",
            "del fields[at], lines[at + 1], lines[1]",
        ),
        _fault(
            "field-of-a-hop-passed-on",
            "A reply with fields of the connection is for the ordinary path.",
            "upstream/plain_reply",
            "HOP_BY_HOP | {_LENGTH}",
            "frozenset({_CODING, _LENGTH})",
        ),
        _fault(
            "first-piece-lost",
            "What came of a reply is handed over with its connection.",
            "upstream/plain_exchange",
            "for part in self._parts:",
            "for part in self._parts[1:]:",
        ),
        _fault(
            "reply-of-another",
            "A connection whose reply is not waited for ends.",
            "upstream/plain_exchange",
            "self._connections.release(self._release(), reusable=False)",
            "self._connections.release(self._release(), reusable=True)",
        ),
        _fault(
            "asked-twice",
            "A call that was sent is not sent again when it is handed over.",
            "clients/connection",
            "call.head, call.hand_over())",
            "call.head, call.hand_over().abandon())",
        ),
        _fault(
            "next-request-lost",
            "What comes while a call is under way is served after it.",
            "clients/connection",
            "        if self._incoming:\n            self._begin_next()",
            "        if self._incoming.take():\n            self._begin_next()",
        ),
        _fault(
            "half-closed-without-a-reply",
            "A call under way is answered also if the client says that it sends nothing more.",
            "clients/connection",
            "        if not self._is_busy:\n            self._owner.end_soon",
            "        if self._request is None:\n            self._owner.end_soon",
        ),
    )
}


def main(name: str, requests: int) -> int:
    """Compare; say what was seen, and return 0 if that was a difference."""
    patching.install(FAULTS[name])
    from tests.alike import run  # noqa: PLC0415 - imports the product, hence not before it is broken

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
