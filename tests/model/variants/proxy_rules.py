"""Rules of reads and writes on their way through the proxy."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_ADMISSION = "cache/admission.py"
_CHANGES = "hadoop/changes.py"
_EFFECTS = "hadoop/effects.py"
_FLIGHTS = "proxy/flights.py"
_FRONT_END = "proxy/front_end.py"
_OUTCOMES = "hadoop/outcomes.py"
_WAITING = "proxy/waiting.py"
_WAIT_GROUPS = "proxy/wait_groups.py"
_WRITES = "proxy/writes.py"

PROXY_RULES: Final = (
    # -- writes ------------------------------------------------------------------------------------------
    Variant(
        name="forgetting-after-the-answer",
        guarantee=Guarantee.OWN_WRITES,
        rule="What a write makes stale is forgotten before its answer goes out.",
        module=_WRITES,
        old="            self._apply(effects.changes)\n",
        new="            asyncio.get_running_loop().call_later(0.2, self._apply, effects.changes)\n",
    ),
    Variant(
        name="unknown-outcome-awaits-no-events",
        guarantee=Guarantee.OWN_WRITES,
        rule="A write whose outcome is not known may have happened: its client hears of that after the events.",
        module=_EFFECTS,
        old="case CallOutcome.HALFWAY | CallOutcome.UNKNOWN:\n            return LEFT_TO_EVENTS",
        new="case CallOutcome.HALFWAY | CallOutcome.UNKNOWN:\n            return NO_EFFECT",
    ),
    Variant(
        name="unknown-outcome-counts-as-done",
        guarantee=Guarantee.HITS_KEPT,
        rule="A write without an answer costs nothing before its events do: anybody can hang up.",
        module=_EFFECTS,
        old="case CallOutcome.HALFWAY | CallOutcome.UNKNOWN:\n            return LEFT_TO_EVENTS",
        new="case CallOutcome.HALFWAY | CallOutcome.UNKNOWN:\n            return _effects_of_write(call, existing)",
    ),
    Variant(
        name="refused-call-forgets",
        guarantee=Guarantee.HITS_KEPT,
        rule="A call that was refused, whoever sends it, costs nothing.",
        module=_EFFECTS,
        old="case CallOutcome.UNDONE:\n            return NO_EFFECT",
        new="case CallOutcome.UNDONE:\n            return _effects_of_write(call, existing)",
    ),
    Variant(
        name="refused-read-forgets",
        guarantee=Guarantee.HITS_KEPT,
        rule="A read that was refused has set no access time.",
        module=_EFFECTS,
        old="if path is None or exceeds_limits(path) or outcome is not CallOutcome.DONE:",
        new="if path is None or exceeds_limits(path):",
    ),
    Variant(
        name="false-counts-as-done",
        guarantee=Guarantee.HITS_KEPT,
        rule="A DELETE or RENAME that is answered with false has changed nothing.",
        module=_OUTCOMES,
        old="return CallOutcome.UNDONE if may_be_false and body == _FALSE else CallOutcome.DONE",
        new="return CallOutcome.UNDONE if may_be_false and not body else CallOutcome.DONE",
    ),
    Variant(
        name="redirect-counts-as-the-write",
        guarantee=Guarantee.HITS_KEPT,
        rule="A redirect to an alias has changed nothing yet.",
        module=_EFFECTS,
        old="    if path is None or not call.is_certain:\n        return LEFT_TO_EVENTS",
        new="    if path is None or not call.is_certain:\n        return Effects((SubtreeUnknown(ROOT),))",
    ),
    Variant(
        name="mkdirs-makes-no-ancestors",
        guarantee=Guarantee.OWN_WRITES,
        rule="MKDIRS counts for every ancestor that nothing proves to exist.",
        module="cache/metadata_cache.py",
        old="return above[max(0, len(above) - 1 - lowest) : max(0, len(above) - 1 - proven)]",
        new="return above[:0]",
    ),
    Variant(
        name="own-chmod-touches-only-the-path",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A change of access through the proxy costs everything below the path.",
        module=_EFFECTS,
        old="case Effect.CHANGES_ACCESS:\n            return (AccessChanged(path),)",
        new="case Effect.CHANGES_ACCESS:\n            return (Touched(path),)",
    ),
    Variant(
        name="own-delete-touches-only-the-path",
        guarantee=Guarantee.OWN_WRITES,
        rule="A DELETE through the proxy costs the parent's own status and everything below the path.",
        module=_EFFECTS,
        old="            return (Vanished(path),)\n        case Effect.CHANGES_ACCESS",
        new="            return (Touched(path),)\n        case Effect.CHANGES_ACCESS",
    ),
    # -- open files --------------------------------------------------------------------------------------
    Variant(
        name="open-file-kept",
        guarantee=Guarantee.OPEN_FILE_UNCACHED,
        rule="A file is kept only if the NameNode says that it is closed.",
        module="proxy/outcomes.py",
        old="    if not is_closed:\n",
        new="    if is_closed is None:\n",
    ),
    Variant(
        name="witness-of-a-file-not-asked-about",
        guarantee=Guarantee.OPEN_FILE_UNCACHED,
        rule="Who brings a status that is kept already, without a word on whether the file is closed, waits for proof.",
        module="cache/metadata_cache.py",
        old="if isinstance(outcome, Unchanged):",
        new="if isinstance(outcome, OpenFile):",
    ),
    Variant(
        name="silence-counts-as-closed",
        guarantee=Guarantee.OPEN_FILE_UNCACHED,
        rule="A file of which nobody said that it is closed is not kept.",
        module=_FLIGHTS,
        old='_log.debug("isFileClosed of %s: %s", path, error)\n            return False',
        new='_log.debug("isFileClosed of %s: %s", path, error)\n            return True',
    ),
    Variant(
        name="append-event-overlooked",
        guarantee=Guarantee.OPEN_FILE_UNCACHED,
        rule="An APPEND opens a file: its entry goes.",
        module=_CHANGES,
        old="return (Opened(canonical(path)),)",
        new="return ()",
    ),
    # -- which answers may be kept -----------------------------------------------------------------------
    Variant(
        name="refusal-kept-as-missing",
        guarantee=Guarantee.VERBATIM,
        rule="A 403 is never kept.",
        module=_ADMISSION,
        old="return Admission.DENIED",
        new="return Admission.MISSING",
    ),
    Variant(
        name="passing-refusal-kept",
        guarantee=Guarantee.VERBATIM,
        rule="What a NameNode says because it is standby or just starting is never kept.",
        module=_ADMISSION,
        old="return Admission.UNAUTHENTICATED\n        case _:\n            return Admission.FAILED",
        new="return Admission.UNAUTHENTICATED\n        case _:\n            return Admission.DIRECTORY",
    ),
    Variant(
        name="server-error-kept",
        guarantee=Guarantee.VERBATIM,
        rule="No status but 200 and 404 is ever kept.",
        module=_ADMISSION,
        old="_admit_refusal(body)\n        case _:\n            return Admission.FAILED",
        new="_admit_refusal(body)\n        case _:\n            return Admission.DIRECTORY",
    ),
    Variant(
        name="any-404-is-a-true-one",
        guarantee=Guarantee.VERBATIM,
        rule="A 404 is kept only if its body is what would be rendered for it.",
        module=_ADMISSION,
        old="return Admission.MISSING if body == render_missing(as_requested) else Admission.FAILED",
        new="return Admission.MISSING",
    ),
    Variant(
        name="missing-in-another-spelling",
        guarantee=Guarantee.VERBATIM,
        rule="A 404 quotes the path as this very request spelled it.",
        module="proxy/clients/cached_reply.py",
        old="return render_missing(as_requested) if reply.status == HTTPStatus.NOT_FOUND else reply.body",
        new="return reply.body",
    ),
    Variant(
        name="cookie-replayed",
        guarantee=Guarantee.VERBATIM,
        rule="A Set-Cookie belongs to the reply with which it came, and is never repeated.",
        module="proxy/headers.py",
        old='    b"set-cookie",\n',
        new="",
    ),
    Variant(
        name="one-caller-for-all",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="A caller is whom the NameNode would see asking.",
        module="proxy/identity.py",
        old='return Caller("\\0".join(parts or ["anonymous"]))',
        new='return Caller("\\0".join(parts or ["anonymous"])[:5])',
    ),
    Variant(
        name="oracle-header",
        guarantee=Guarantee.PROVEN_GRANT,
        rule="What the cache knows of a path is said in Cache-Status to callers to whom the NameNode shows the path.",
        module="proxy/cache_status.py",
        old="why if is_shown or REASONS[why].is_open else Reason.MISS",
        new="why",
    ),
    # -- whatever breaks on our side ---------------------------------------------------------------------
    Variant(
        name="broken-cache-breaks-the-read",
        guarantee=Guarantee.FAIL_TO_NAMENODE,
        rule="A read on which the cache fails is forwarded.",
        module=_FRONT_END,
        old="return PassOn(Bypass.CACHE_ERROR)",
        new="raise",
    ),
    Variant(
        name="refusal-to-forward",
        guarantee=Guarantee.FAIL_TO_NAMENODE,
        rule="What the cache may not answer is forwarded, also while nothing is known of the changes.",
        module=_FRONT_END,
        old="return await self._pass_on(request, exchange, head, call, answer.why, adds)",
        new='return self.answers.failed(exchange, ProxyError("not now"), answer.why, adds)',
    ),
    Variant(
        name="unanswered-question-breaks-the-write",
        guarantee=Guarantee.FAIL_TO_NAMENODE,
        rule="A redirect is passed on also when the last transaction id could not be asked for.",
        module=_WRITES,
        old="        except Exception as error:  # noqa: BLE001 - FailToNameNode\n            self._txid_failures",
        new="        except LookupError as error:\n            self._txid_failures",
    ),
    Variant(
        name="write-that-could-not-be-noted",
        guarantee=Guarantee.OWN_WRITES,
        rule="A two-step write that the cache could not note keeps everything out of it for as long as a window lasts.",
        module=_WRITES,
        old="                self._cache.forward_all(self._clock())",
        new="                pass",
    ),
    # -- waiting -----------------------------------------------------------------------------------------
    Variant(
        name="wait-ends-with-what-was-known-when-it-began",
        guarantee=Guarantee.BOUNDED,
        rule="At the end of its time a request that was held is answered as one that comes just then.",
        module=_WAITING,
        old="            is_over = leaves or self._is_stopping or loop.time() >= deadline\n",
        new="            if loop.time() >= deadline:\n                break\n",
    ),
    Variant(
        name="wait-shares-with-other-callers",
        guarantee=Guarantee.VERBATIM,
        rule="A reply that comes for several who wait goes to those alone in whose name it was asked for.",
        module=_WAIT_GROUPS,
        old="    return GroupKey(read.plain.as_requested, read.caller, credential)",
        new="    return GroupKey(read.plain.as_requested, Caller(''), credential)",
    ),
)
