"""Faults that were planted in the quick ways, one line each, and must be seen. (tests/alike/faults.py)

`python -m tests.alike.faults NAME` compares with one of them in force, in a process of its own.
"""

import signal
import sys
from types import FrameType
from typing import Final, NoReturn

from tests.model.guarantee import Guarantee
from tests.model.variants import patching
from tests.model.variants.variant import Variant

REQUESTS: Final = 10_000
"""Within so many each is seen."""

_PATIENCE_S: Final = 30
"""A broken product may never end a conversation; that is seen as well."""


def _fault(name: str, rule: str, module: str, old: str, new: str) -> Variant:
    return Variant(
        name=name,
        guarantee=Guarantee.VERBATIM,
        rule=rule,
        module=f"proxy/clients/{module}.py",
        old=old,
        new=new,
    )


FAULTS: Final = {
    fault.name: fault
    for fault in (
        _fault(
            "credential-left-out",
            "A credential is part of the key.",
            "per_request_fields",
            '    "baggage",',
            '    "authorization",',
        ),
        _fault(
            "folded-field-left-out",
            "A field that goes on in the next line is not left out.",
            "per_request_fields",
            r'"):[\t\x20-\x7e]*(?=\r\n)"',
            r'"):[\t\x20-\x7e]*(?:\r\n[\t ][\t\x20-\x7e]*)*(?=\r\n)"',
        ),
        _fault(
            "any-value-left-out",
            "A field is left out only if all of its value can be printed.",
            "per_request_fields",
            r'"):[\t\x20-\x7e]*(?=\r\n)"',
            r'"):[^\r]*(?=\r\n)"',
        ),
        _fault(
            "two-heads-as-one",
            "Fields are left out of one head only.",
            "per_request_fields",
            'return head.startswith(b"GET ") and head.find(_END) == len(head) - len(_END)',
            'return head.startswith(b"GET ")',
        ),
        _fault(
            "too-many-fields",
            "Fields that are left out are counted.",
            "per_request_fields",
            'head.count(b"\\r\\n") > max_fields + 2',
            'kept.count(b"\\r\\n") > max_fields + 2',
        ),
        _fault(
            "target-of-any-case",
            "Upper and lower case are part of the key.",
            "per_request_fields",
            '_LINE.subn(b"", head)',
            '_LINE.subn(b"", head.lower().replace(b"get ", b"GET ", 1))',
        ),
        _fault(
            "length-not-asked",
            "A head that is too long is left to the ordinary path.",
            "fastpath",
            "            if len(head) > self._max_head_bytes:",
            "            if len(head) > MAX_HEAD_BYTES:",
        ),
        _fault(
            "good-not-asked",
            "What is known is asked for each request whether it is still good.",
            "fastpath",
            "if not self._is_good(answer, now):",
            "if not self._is_good(answer, now) and now < 0:",
        ),
        _fault(
            "text-of-another-second",
            "A text is kept for its second only.",
            "fastpath",
            "if int(now) != self._second:",
            "if int(now) > self._second + 1:",
        ),
        _fault(
            "path-quoted-as-it-came",
            "A missing path is quoted as the ordinary path quotes it.",
            "fastpath",
            "return head.startswith(body[len(_MISSING_START) : -len(_MISSING_END)], _TARGET_STARTS)",
            "return head.startswith(b'GET ')",
        ),
        _fault(
            "close-left-out",
            "`Connection: close` is part of the key.",
            "per_request_fields",
            '    "baggage",',
            '    "connection",',
        ),
        _fault(
            "old-version",
            "A request of HTTP/1.0 is not remembered.",
            "hit_memory",
            "request.version != HttpVersion11 or not request.keep_alive",
            "not request.keep_alive",
        ),
        _fault(
            "part-of-a-head-held",
            "Nothing is answered at once behind a part of a head.",
            "connection",
            "if self.is_idle and self._at_boundary and not self._paused:",
            "if self.is_idle and not self._paused:",
        ),
        _fault(
            "request-in-progress",
            "Nothing is answered at once while a request is in progress.",
            "connection",
            "if self.is_idle and self._at_boundary and not self._paused:",
            "if self._at_boundary and not self._paused:",
        ),
        _fault(
            "last-piece-as-head",
            "What is remembered is the whole head, not the piece that ends it.",
            "connection",
            "data if is_alone and queued == 1 and self._at_boundary else None",
            "data if queued == 1 and self._at_boundary else None",
        ),
        _fault(
            "answered-behind-a-refusal",
            "Nothing is answered on a connection that is closing.",
            "connection",
            "        if self._close or self._is_ending:\n            return  #",
            "        if self._is_ending:\n            return  #",
        ),
        _fault(
            "given-back-while-paused",
            "No connection is given back while its client does not read.",
            "connection",
            "if self._known_in_a_row >= _KNOWN_IN_A_ROW and not self._paused:",
            "if self._known_in_a_row >= _KNOWN_IN_A_ROW:",
        ),
        _fault(
            "answered-while-paused",
            "Nothing is answered at once while the client does not read.",
            "quick_connection",
            "reply = None if self.is_paused else self._fast_path.answer(data)",
            "reply = self._fast_path.answer(data)",
        ),
        _fault(
            "use-not-noted",
            "A known request counts against the idle timeout.",
            "quick_connection",
            "            self._used_at = self._loop.time()\n            transport.write(reply)",
            "            transport.write(reply)",
        ),
        _fault(
            "handed-over-in-part",
            "All bytes that are not known are handed over.",
            "quick_connection",
            "may_enter(is_there=False):\n                self._owner.take_over(self, data)",
            "may_enter(is_there=False):\n                self._owner.take_over(self, data[:200])",
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
    for step in figures.told:
        sys.stdout.write(f"  {step}\n")
    return not figures.difference


def _give_up(_: int, __: FrameType | None) -> NoReturn:
    raise TimeoutError("a conversation did not end")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else REQUESTS))
