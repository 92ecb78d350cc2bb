"""Play one history: JournalNodes and NameNodes suffer faults while HDFS changes and readers follow the log."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nncache.testbed.daemon import ProxyDaemon
from tests.inotify.subscriber_log import Begins
from tests.inotify.verdict import Verdict, judge
from tests.journal_faults.changes import Changes
from tests.journal_faults.finalized import DamagedJournalError, transactions_between
from tests.journal_faults.pair import FaultyPair
from tests.journal_faults.plan import Fault
from tests.journal_faults.reader import EditsReader, event_of
from tests.real.beside import beside
from tests.real.faults import carry_out

_NUMBERS: Final = re.compile(r"\d[\d.:]*")
"""Transaction ids, addresses and epochs: the reasons why runs ended are counted without them."""


@dataclass(slots=True, kw_only=True)
class Played:
    """The results of a history."""

    verdict: Verdict  # of the reader
    runs: int = 0  # of the reader
    ends: Counter[str] = field(default_factory=Counter)  # of its runs: the errors, without numbers
    made: int = 0  # changes that were acknowledged
    hits: int = 0
    stale: tuple[str, ...] = ()


def play(
    pair: FaultyPair,
    proxy: ProxyDaemon,
    faults: Sequence[Fault],
    seconds: float,
    name: str,
    edits_source: str,
) -> Played:
    """Play the history to its end, mend all parts, finalize all edits, and judge what was read.

    Raises:
        BeyondRepairError: the pair cannot be used any more.
        DamagedJournalError: the JournalNodes cannot be.
    """
    pair.make_whole()
    changes = Changes(pair, f"/journal/{name}")
    reader = EditsReader(pair, edits_source)
    with reader.reading():
        with beside(changes.make), beside(partial(changes.look, proxy.address)):
            carry_out(faults, seconds, pair.trouble)
            pair.make_whole()
        finalized_txid = pair.make_whole() - 1
        reader.await_through(finalized_txid)
    begun = reader.log[0]
    assert isinstance(begun, Begins)
    directories = map(pair.journal_directory, pair.journalnodes)
    log = transactions_between(directories, begun.after, finalized_txid)
    if lost := changes.lost(log):
        raise DamagedJournalError(f"HDFS has lost {lost} changes that it had acknowledged")
    return Played(
        verdict=judge(reader.log, [*map(event_of, log)]),
        runs=reader.runs,
        ends=Counter(_NUMBERS.sub("N", each) for each in reader.ends),
        made=changes.made,
        hits=changes.hits,
        stale=tuple(changes.stale),
    )
