"""Publishers, and proxies that stream events, that break a rule, as programs.

Run `python -m tests.inotify.broken NAME publisher ...`, or `proxy ...`. The histories must find each of them.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from nncache.commands.cli import main
from nncache.coordination.session import KazooSession
from nncache.coordination.zookeeper import ANY_VERSION, CheckOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.events.messages import EventFrame
from nncache.events.source import AfterTxid, EventsGap, Item
from nncache.events.stream import EventStream, StreamEnd
from nncache.invalidation.channel.records import MatchedEvents
from nncache.invalidation.publisher.output_stream import Publication
from nncache.invalidation.publisher.write_plan import WritePlan


def no_fencing() -> None:
    """Write without a check of znode versions."""
    commit = KazooSession.commit

    async def blindly(self: KazooSession, operations: Sequence[ZnodeOp]) -> None:
        await commit(self, [_blind(each) for each in operations if not isinstance(each, CheckOp)])

    KazooSession.commit = blindly  # type: ignore[method-assign]  # it is broken on purpose


def epoch_not_in_the_multi() -> None:
    """Increment the epoch, but commit writes without a check of it."""
    commit = KazooSession.commit

    async def without(self: KazooSession, operations: Sequence[ZnodeOp]) -> None:
        kept = [
            each for each in operations if not (isinstance(each, CheckOp) and each.path.endswith("/.epoch"))
        ]
        await commit(self, kept)

    KazooSession.commit = without  # type: ignore[method-assign]  # it is broken on purpose


def silent_drop() -> None:
    """Leave the filters' events out of every twentieth publication."""
    plan, number = WritePlan.plan_publication, [0]

    def dropping(self: WritePlan, publication: Publication) -> Any:
        number[0] += 1
        if number[0] % 20 == 0:
            kept = {
                name: each
                for name, each in publication.filters.items()
                if not isinstance(each, MatchedEvents)
            }
            publication = Publication(txid=publication.txid, content=publication.content, filters=kept)
        return plan(self, publication)

    WritePlan.plan_publication = dropping  # type: ignore[method-assign]  # it is broken on purpose


def no_chain() -> None:
    """Link each record to whatever record its reader read last."""
    from nncache.invalidation.publisher import write_plan  # noqa: PLC0415 - to replace a name in it

    link = write_plan._link  # noqa: SLF001 - it is the rule that is broken

    def unlinked(stream: write_plan.PlannedStream, txid: int) -> Any:
        made = link(stream, txid)
        return type(made)(made.chain, 0, txid)

    write_plan._link = unlinked  # noqa: SLF001 - it is the rule that is broken


def untold_modification() -> None:
    """Match a modified filter by its new glob, and announce no modification."""
    encoded = WritePlan._encoded  # noqa: SLF001 - it is the rule that is broken

    def untold(self: WritePlan, name: str, content: Any, txid: int) -> bytes:
        filters = self._filters
        modified = filters[name]
        filters[name] = replace(modified, replaces=None)
        data = encoded(self, name, content, txid)
        filters[name] = modified
        return data

    WritePlan._encoded = untold  # type: ignore[method-assign]  # noqa: SLF001 - it is broken on purpose


def skip_on_resume() -> None:
    """Skip the next events when a stream resumes after the end of an earlier one."""
    run, write = EventStream.run, EventStream._write_events  # noqa: SLF001 - it is the rule that is broken
    resumed: set[EventStream] = set()

    async def running(self: EventStream) -> StreamEnd:
        if self._after is not None:
            resumed.add(self)
        return await run(self)

    async def skipping(self: EventStream, frame: EventFrame, after: AfterTxid) -> None:
        if self in resumed and not frame.is_modified:
            resumed.discard(self)
            self._after = after
        else:
            await write(self, frame, after)

    EventStream.run = running  # type: ignore[method-assign]  # it is broken on purpose
    EventStream._write_events = skipping  # type: ignore[method-assign]  # noqa: SLF001 - as above


def untold_gap() -> None:
    """Continue a stream after a gap without announcing the gap."""
    take = EventStream._take  # noqa: SLF001 - it is the rule that is broken

    async def untold(self: EventStream, item: Item) -> StreamEnd | None:
        if isinstance(item, EventsGap):
            self._after = item.after
            return None
        return await take(self, item)

    EventStream._take = untold  # type: ignore[method-assign]  # noqa: SLF001 - it is broken on purpose


BROKEN_PUBLISHERS: Final[dict[str, Callable[[], None]]] = {
    "no-fencing": no_fencing,
    "epoch-not-in-the-multi": epoch_not_in_the_multi,
    "silent-drop": silent_drop,
    "no-chain": no_chain,
    "untold-modification": untold_modification,
}
BROKEN_PROXIES: Final[dict[str, Callable[[], None]]] = {
    "skip-on-resume": skip_on_resume,
    "untold-gap": untold_gap,
}


def _blind(operation: ZnodeOp) -> ZnodeOp:
    match operation:
        case SetDataOp(path, data):
            return SetDataOp(path, data, ANY_VERSION)
        case DeleteOp(path):
            return DeleteOp(path, ANY_VERSION)
        case _:
            return operation


if __name__ == "__main__":
    (BROKEN_PUBLISHERS | BROKEN_PROXIES)[sys.argv[1]]()
    sys.argv = ["nncache", *sys.argv[2:]]
    main()
