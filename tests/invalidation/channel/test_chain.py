"""The continuity of a stream's records (GapFlush)."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nncache.invalidation.channel.chain import ChainBroken, ChainContinued, ChainPosition, ChainReplayed
from nncache.invalidation.channel.records import RecordLink


def test_what_was_read_already_is_passed_over() -> None:
    """Each record says where its new part begins; a repeated record or a position within one skips nothing."""
    first, second = RecordLink("c", 10, 13), RecordLink("c", 13, 14)
    chain = ChainPosition("c", 11)
    steps = [chain.receive(link) for link in (first, first, second, first)]
    assert steps == [ChainContinued(11), ChainReplayed(), ChainContinued(13), ChainReplayed()]
    assert (chain.chain, chain.txid) == ("c", 14)


def test_a_missing_record_breaks_the_chain() -> None:
    """GapFlush: the error names exactly the missing transactions, and the position stays."""
    chain = ChainPosition("c", 10)
    assert chain.receive(RecordLink("c", 13, 14)) == ChainBroken("transactions 11 to 13 are missing")
    assert chain.txid == 10


@pytest.mark.parametrize("link", [RecordLink("d", 10, 13), RecordLink("d", 0, 10), RecordLink("d", 13, 14)])
def test_another_life_of_the_stream_breaks_the_chain(link: RecordLink) -> None:
    """GapFlush: a restarted stream may have missed anything, whatever its transaction ids."""
    chain = ChainPosition("c", 10)
    assert chain.receive(link) == ChainBroken("the stream was restarted")
    assert chain.txid == 10


@given(
    st.lists(st.integers(0, 60), unique=True, min_size=2, max_size=12).map(sorted),
    st.integers(0, 60),
    st.data(),
)
def test_every_transaction_behind_the_position_is_read_once(
    ends: list[int], position: int, data: st.DataObject
) -> None:
    """A naive twin: each transaction after the position is in exactly one record that is `ChainContinued`, in order."""
    assume(ends[0] <= position <= ends[-1])
    chain, read = ChainPosition("c", position), []
    for previous, txid in pairwise(ends):
        for _ in range(data.draw(st.integers(1, 2))):
            match chain.receive(RecordLink("c", previous, txid)):
                case ChainContinued(after_txid):
                    read += list(range(after_txid + 1, txid + 1))
                case step:
                    assert step == ChainReplayed()
    assert read == list(range(position + 1, ends[-1] + 1))


@given(st.lists(st.tuples(st.sampled_from("cd"), st.integers(0, 20), st.integers(1, 5)), max_size=15))
def test_what_a_chain_has_read_has_no_hole(found: list[tuple[str, int, int]]) -> None:
    """GapFlush: in whatever order records are found, everything up to the position was read."""
    chain, read = ChainPosition("c", 8), set(range(9))
    for name, previous, length in found:
        link = RecordLink(name, previous, previous + length)
        match chain.receive(link):
            case ChainContinued():
                read |= set(range(previous + 1, link.txid + 1))
            case ChainBroken() | ChainReplayed():
                pass
        assert read == set(range(chain.txid + 1))
