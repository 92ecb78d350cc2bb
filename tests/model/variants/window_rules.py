"""Rules of two-step writes, whose second step passes the proxy by."""

from typing import Final

from tests.model.guarantee import Guarantee
from tests.model.variants.variant import Variant

_WINDOWS = "cache/windows.py"

WINDOW_RULES: Final = (
    Variant(
        name="window-ended-by-an-old-close",
        guarantee=Guarantee.OWN_WRITES,
        rule="Only a CREATE or APPEND newer than the transaction id asked before the redirect arms a window.",
        module=_WINDOWS,
        old="            if window.after_txid is not None and txid > window.after_txid:\n"
        "                window.is_armed = True",
        new="            if window.after_txid is not None:\n                window.is_armed = True",
    ),
    Variant(
        name="window-ended-by-any-close",
        guarantee=Guarantee.OWN_WRITES,
        rule="Only a CLOSE that follows the write's own CREATE or APPEND ends a window.",
        module=_WINDOWS,
        old="if len(windows) == 1 and windows[0].is_armed:",
        new="if len(windows) == 1:",
    ),
    Variant(
        name="window-without-the-parent",
        guarantee=Guarantee.OWN_WRITES,
        rule="A window covers the parent's own status.",
        module=_WINDOWS,
        old="return path in self._names or self._roots.cover(path)",
        new="return self._roots.cover(path)",
    ),
    Variant(
        name="window-without-missing-ancestors",
        guarantee=Guarantee.OWN_WRITES,
        rule="A window covers the ancestors that may have to be made.",
        module=_WINDOWS,
        old="dict.fromkeys((write.topmost, write.path))",
        new="dict.fromkeys((write.path,))",
    ),
    Variant(
        name="window-table-overflows-unnoticed",
        guarantee=Guarantee.OWN_WRITES,
        rule="A write that finds no room covers every path until its window would have ended.",
        module=_WINDOWS,
        old="return now < self._full_until",
        new="return now < 0",
    ),
    Variant(
        name="window-opened-without-forgetting",
        guarantee=Guarantee.OWN_WRITES,
        rule="Opening a window costs what is kept of its path, hits that are repeated among it.",
        module="cache/metadata_cache.py",
        old="        for root in covered or ():\n            self.apply(Appeared(root), now)",
        new="        for root in covered or ():\n            self.holds(root)",
    ),
    Variant(
        name="window-from-no-transaction-on",
        guarantee=Guarantee.OWN_WRITES,
        rule="The last transaction id is asked for before the redirect is passed on.",
        module="proxy/writes.py",
        old="self._cache.open_window(path, txid, self._clock(), existing.topmost_missing, writer)",
        new="self._cache.open_window(path, txid and 0, self._clock(), existing.topmost_missing, writer)",
    ),
    Variant(
        name="window-after-the-redirect",
        guarantee=Guarantee.OWN_WRITES,
        rule="The window is opened before the redirect is passed on.",
        module="proxy/writes.py",
        old="self._cache.open_window(path, txid, self._clock(), existing.topmost_missing, writer)",
        new="asyncio.get_running_loop().call_later(0.2, self._cache.open_window, path, None,"
        " self._clock() + 0.2, existing.topmost_missing, writer)",
    ),
    Variant(
        name="request-names-what-is-written",
        guarantee=Guarantee.OWN_WRITES,
        rule="The second step writes the path that the redirect names, whatever form the request had.",
        module="hadoop/redirects.py",
        old="    named = () if location is None else _forms(location)",
        new="    named = () if call.path is None else (call.path,)",
    ),
    Variant(
        name="url-in-json-read-in-one-form",
        guarantee=Guarantee.OWN_WRITES,
        rule="Of a URL that a client may normalize, or not, both forms are covered.",
        module="hadoop/redirects.py",
        old='for form in dict.fromkeys((rest, unicodedata.normalize("NFC", rest))))',
        new="for form in (rest,))",
    ),
    Variant(
        name="create-without-a-window",
        guarantee=Guarantee.OWN_WRITES,
        rule="A redirected CREATE is made later, past the proxy.",
        module="hadoop/operations.py",
        old='Operation("CREATE", "PUT", Effect.APPEARS, makes_ancestors=True, two_step=True)',
        new='Operation("CREATE", "PUT", Effect.APPEARS, makes_ancestors=True)',
    ),
    Variant(
        name="append-without-a-window",
        guarantee=Guarantee.OWN_WRITES,
        rule="A redirected APPEND is made later, past the proxy.",
        module="hadoop/operations.py",
        old='Operation("APPEND", "POST", Effect.TOUCHES, two_step=True)',
        new='Operation("APPEND", "POST", Effect.TOUCHES)',
    ),
    Variant(
        name="window-without-a-right",
        guarantee=Guarantee.HITS_KEPT,
        rule="A window is opened only where the caller could write: the NameNode redirects anybody.",
        module="proxy/writes.py",
        old="writer = replace(writer, has_right=existing.can_be_made, is_known=existing.is_known)",
        new="writer = replace(writer, has_right=True, is_known=existing.is_known)",
    ),
    Variant(
        name="later-right-not-noticed",
        guarantee=Guarantee.OWN_WRITES,
        rule="Of a write without a right a NameNode is asked again when something at or above it may have given one.",
        module=_WINDOWS,
        old="        for write in self._aside.denied_at(path):\n            self.recheck(write)",
        new="        for write in self._aside.denied_at(path):\n            self._aside.remove(write)",
    ),
    Variant(
        name="later-question-costs-a-newer-write",
        guarantee=Guarantee.OWN_WRITES,
        rule="A write without a right that is asked about again is no newer than those that came meanwhile.",
        module="cache/deferred_writes.py",
        old="aged = (write.ends_at, next(self._numbers), write)",
        new="latest = self._by_age[-1][0] if self._by_age else 0.0\n"
        "        aged = (max(write.ends_at, latest), next(self._numbers), write)",
    ),
    Variant(
        name="later-right-not-waited-for",
        guarantee=Guarantee.OWN_WRITES,
        rule="A call that may give somebody the right to a second step is answered when that is known.",
        module="proxy/writes.py",
        old="if self._rechecks != rechecks and self._asking is not None:",
        new="if self._rechecks < 0 and self._asking is not None:",
    ),
    Variant(
        name="right-given-while-asked",
        guarantee=Guarantee.OWN_WRITES,
        rule="A caller without the right is asked about again if a change may have given it meanwhile.",
        module="proxy/existing_path.py",
        old="if existing.can_be_made or watch.invalidations == invalidations:",
        new="if existing.can_be_made or watch.invalidations >= invalidations:",
    ),
    Variant(
        name="right-known-from-before",
        guarantee=Guarantee.OWN_WRITES,
        rule="That a caller had no right a moment ago says nothing of now: the event that gives it may be lost.",
        module="proxy/existing_path.py",
        old="if shared.asked == asked_before or shared.answer is None:",
        new="if shared.answer is None:",
    ),
    Variant(
        name="flush-gives-no-right",
        guarantee=Guarantee.OWN_WRITES,
        rule="Where changes may have been missed, one of them may have given a right.",
        module="cache/metadata_cache.py",
        old="        self.windows.may_be_granted(ROOT)  # what has changed meanwhile is not known\n",
        new="",
    ),
    Variant(
        name="fault-leaves-a-right-unasked",
        guarantee=Guarantee.OWN_WRITES,
        rule="So is one whose changes the cache could not take: it was emptied, and the right is there all the same.",
        module="proxy/writes.py",
        old='            self._distrust_cache("could not take the changes of a write")\n',
        new='            self._distrust_cache("could not take the changes of a write")\n            return\n',
    ),
    Variant(
        name="asked-about-once",
        guarantee=Guarantee.OWN_WRITES,
        rule="A write that is asked about stays set aside: another change may give the right meanwhile.",
        module=_WINDOWS,
        old="        recheck_queue, self._recheck_queue = self._recheck_queue, {}\n",
        new="        recheck_queue, self._recheck_queue = self._recheck_queue, {}\n"
        "        for write in recheck_queue:\n"
        "            if write in self._aside:\n"
        "                self._aside.remove(write)\n",
    ),
)
