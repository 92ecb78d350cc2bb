"""The active NameNode: the invariants of `election_view.py` hold for any answers in any order."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nncache.hadoop.election_view import ElectionView, HaState, Journal, NameNode, Probe, ProbeReply

A = NameNode("a:9870", "a:8020")
B = NameNode("b:9870", "b:8020")


class AnyHistory(RuleBasedStateMachine):
    """The invariants of ElectionView hold for any answers of the NameNodes, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.view = ElectionView((A, B))
        self.now = 10.0
        self.answers: dict[NameNode, tuple[float, ProbeReply | None]] = {}  # query time; None: no answer
        self.last_term = 0
        self.lives: dict[int, tuple[NameNode, int, int]] = {}  # by term
        self.last_confirmed: dict[int, float] = {}  # by term
        self.contradicted = 0  # the highest term that a contradiction ended
        self.log = 100  # the last transaction that any NameNode has acknowledged
        self.log_at: list[tuple[float, int]] = [(0.0, 100)]  # each value with its start
        self.last_probes: dict[int, Probe] = {}  # the latest by term

    @rule(
        namenode=st.sampled_from((A, B)),
        state=st.sampled_from(HaState),
        started=st.integers(1, 2),
        transition=st.integers(0, 2),
        delay=st.sampled_from((0.0, 0.0, 1.5)),
        lag=st.sampled_from((0, 0, 3, None)),
    )
    def answered(
        self, namenode: NameNode, state: HaState, started: int, transition: int, delay: float, lag: int | None
    ) -> None:
        """Deliver an answer, possibly late; the active NameNode knows the whole log."""
        self.now += 1.0
        asked_at = self.now - delay
        journal = None
        if lag is not None:
            written = next(txid for at, txid in reversed(self.log_at) if at <= asked_at)
            last_txid = written if state is HaState.ACTIVE else written - lag
            journal = Journal(last_txid=last_txid, asked_at=asked_at)
        answer = ProbeReply(state=state, started_ms=started, transition_ms=transition, journal=journal)
        if asked_at >= self.answers.get(namenode, (0.0, None))[0]:
            self.answers[namenode] = asked_at, answer
        others_had = 0 if delay else self.view.last_txid_of_others(namenode)
        self.view.answered(namenode, asked_at, answer, others_had=others_had)

    @rule()
    def write(self) -> None:
        """Acknowledge a change."""
        self.now += 1.0
        self.log += 1
        self.log_at.append((self.now, self.log))

    @rule(namenode=st.sampled_from((A, B)))
    def failed(self, namenode: NameNode) -> None:
        """Let a probe fail."""
        self.now += 1.0
        self.answers.setdefault(namenode, (0.0, None))
        self.view.failed(namenode)

    @invariant()
    def the_active_one_is_the_only_one_that_says_so(self) -> None:
        """I1: the active NameNode is the only one that claims to be."""
        if (active := self.view.active) is None:
            assert self.view.confirmed_as_of is None
            return
        assert set(self.answers) == {A, B}
        assert self.view.state_of(active.namenode) is HaState.ACTIVE
        for other in {A, B} - {active.namenode}:
            assert self.view.state_of(other) is not HaState.ACTIVE
        _, answer = self.answers[active.namenode]
        assert answer is not None
        assert (answer.started_ms, answer.transition_ms) == (active.started_ms, active.transition_ms)

    @invariant()
    def what_is_confirmed_was_asked_then_or_later(self) -> None:
        """I2: no reachable NameNode was asked earlier, and the time never decreases within a term."""
        active, as_of = self.view.active, self.view.confirmed_as_of
        if active is None or as_of is None:
            return
        for namenode in (A, B):
            if self.view.is_reachable(namenode) and namenode == active.namenode:
                assert as_of <= self.answers[namenode][0]
        assert as_of >= self.last_confirmed.get(active.term, as_of)
        self.last_confirmed[active.term] = as_of

    @invariant()
    def a_term_is_one_life_of_one_namenode(self) -> None:
        """I3: terms only grow, and each is one life that no contradiction has ended."""
        claims = [n for n in (A, B) if self.view.state_of(n) is HaState.ACTIVE]
        latest = self.lives.get(self.last_term)
        demoted = latest is not None and self.view.state_of(latest[0]) not in {None, HaState.ACTIVE}
        if len(claims) > 1 or (demoted and not claims):
            self.contradicted = self.last_term
        if (active := self.view.active) is None:
            return
        life = (active.namenode, active.started_ms, active.transition_ms)
        assert active.term >= self.last_term
        assert active.term > self.contradicted
        assert self.lives.setdefault(active.term, life) == life
        self.last_term = active.term
        assert self.view.term == active.term

    @invariant()
    def what_is_probed_covers_all_that_was_acknowledged(self) -> None:
        """I4 and Bounded: no change acknowledged before `as_of` is beyond `txid`."""
        probed, active = self.view.last_probe, self.view.active
        if probed is None:
            return
        assert active is not None
        assert probed.term == active.term
        assert all(txid <= probed.txid for at, txid in self.log_at if at < probed.as_of)
        assert probed.as_of <= probed.asked_at
        assert probed.as_of <= (self.view.confirmed_as_of or 0.0)
        former = self.last_probes.setdefault(active.term, probed)
        assert probed.as_of >= former.as_of
        self.last_probes[active.term] = probed


TestAnyHistory = AnyHistory.TestCase
