"""Which NameNode gets a call, and which calls get another NameNode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import pytest

from nncache.clock import boottime
from nncache.proxy.clients.body import RequestBody
from nncache.proxy.errors import (
    NotSentError,
    ServiceLoginError,
    UpstreamCutError,
    UpstreamTimeoutError,
    UpstreamUnavailableError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import NO_TERM, Headers, RequestHead
from nncache.proxy.upstream.failover import FailoverClient, UpstreamCall, UpstreamResponse
from nncache.proxy.upstream.pool import ConnectionPool
from nncache.proxy.upstream.service_login import ServiceLogin, without_service_fields
from tests.patience import HANG_S
from tests.proxy.wire import (
    HEAD_END,
    OK,
    STANDBY,
    STANDBY_REPLY,
    Act,
    FakePool,
    Heard,
    RawNameNode,
    cuts,
    is_silent,
    limits_of_tests,
    pool_of,
    says,
)

READ = RequestHead("GET", "/webhdfs/v1/f?op=GETFILESTATUS", ())
NEGOTIATE = RequestHead("GET", READ.target, ((b"Authorization", b"Negotiate YII="),))
WRITE = RequestHead("PUT", "/webhdfs/v1/f?op=MKDIRS", ((b"Content-Length", b"0"),))
_RETRIABLE = STANDBY.replace(b"StandbyException", b"RetriableException")
RETRIABLE = STANDBY_REPLY.replace(b"%d\r\n" % len(STANDBY), b"%d\r\n" % len(_RETRIABLE)).replace(
    STANDBY, _RETRIABLE
)


@asynccontextmanager
async def asking(pool: FakePool, limits: LimitSettings | None = None) -> AsyncIterator[FailoverClient]:
    """Return a client under test, with all its parts."""
    limits = limits or limits_of_tests()
    connections = ConnectionPool(limits, boottime)
    async with asyncio.TaskGroup() as tasks:
        yield FailoverClient(pool.pool, limits, boottime, connections, tasks)
    connections.close()


async def ask(asking: FailoverClient, head: RequestHead) -> UpstreamResponse:
    """Send a call and close its answer."""
    answer = await asking.ask(UpstreamCall(head, wanted_bytes=65536))
    await answer.close()
    return answer


async def test_the_active_namenode_is_asked() -> None:
    """No other NameNode is asked."""
    async with RawNameNode() as one, RawNameNode() as two:
        pool = FakePool((one.namenode, two.namenode))
        pool.make_active(two.namenode, term=4)
        async with asking(pool) as a:
            answer = await ask(a, READ)
            assert (answer.namenode, answer.term) == (two.namenode, 4)
        assert (len(one.heads), len(two.heads)) == (0, 1)


@pytest.mark.parametrize("head", [READ, WRITE], ids=["read", "write"])
@pytest.mark.parametrize("refusal", [STANDBY_REPLY], ids=["standby"])
async def test_any_call_goes_on_to_the_one_that_is_active(head: RequestHead, refusal: bytes) -> None:
    """A standby executes nothing, so a write may be sent again; the reply has no term, as the pool confirmed none."""
    async with RawNameNode(says(refusal)) as one, RawNameNode() as two:
        pool = pool_of(one, two)
        async with asking(pool) as a:
            answer = await ask(a, head)
            assert (answer.namenode, answer.term) == (two.namenode, NO_TERM)
            assert (a.counts.refused, a.counts.repeated) == (1, 1)
        assert pool.suspected == [one.namenode]


@pytest.mark.parametrize("head", [READ, WRITE], ids=["read", "write"])
async def test_any_call_goes_on_when_it_could_not_be_sent(head: RequestHead) -> None:
    """A refused connection carried no byte."""
    async with RawNameNode() as gone:
        pass_by = gone.namenode
    async with RawNameNode() as two:
        pool = FakePool((pass_by, two.namenode))
        pool.make_active(pass_by)
        async with asking(pool) as a:
            assert (await ask(a, head)).namenode == two.namenode
            assert a.counts.not_sent == 1


async def test_a_read_goes_on_after_a_cut_and_after_one_timeout() -> None:
    """Sending a read again has no side effect."""
    async with RawNameNode(cuts) as one, RawNameNode() as two:
        pool = pool_of(one, two)
        async with asking(pool) as a:
            assert (await ask(a, READ)).namenode == two.namenode
    async with RawNameNode(is_silent) as one, RawNameNode() as two:
        pool = pool_of(one, two)
        async with asking(pool, limits_of_tests(upstream_timeout_s=0.1)) as a:
            assert (await ask(a, READ)).namenode == two.namenode


@pytest.mark.parametrize("head", [READ, WRITE], ids=["read", "write"])
async def test_a_silent_namenode_costs_504_once(head: RequestHead) -> None:
    """The log names `upstream_timeout_s`; the NameNode is not asked a second time."""
    async with RawNameNode(is_silent) as frozen:
        async with asking(FakePool((frozen.namenode,)), limits_of_tests(upstream_timeout_s=0.1)) as a:
            with pytest.raises(UpstreamTimeoutError) as caught:
                await ask(a, head)
        assert caught.value.status == 504
        assert len(frozen.heads) == 1


async def test_a_standby_does_not_answer_for_a_silent_namenode() -> None:
    """The standby is asked until `failover_wait_s` is over; the error is then the timeout, not the refusal."""
    async with RawNameNode(is_silent) as frozen, RawNameNode(says(STANDBY_REPLY)) as standby:
        pool = pool_of(frozen, standby)
        async with asking(pool, limits_of_tests(upstream_timeout_s=0.1, failover_wait_s=0.5)) as a:
            with pytest.raises(UpstreamTimeoutError):
                await ask(a, READ)
        assert len(frozen.heads) == 1
        assert len(standby.heads) > 1


async def test_the_failover_from_a_silent_namenode_answers_a_read() -> None:
    """This holds within `failover_wait_s`."""
    async with RawNameNode(is_silent) as frozen, RawNameNode(says(STANDBY_REPLY)) as standby:
        pool = pool_of(frozen, standby)

        def promote(_: object) -> None:
            if len(standby.heads) == 3:
                standby.acts = (says(OK),)
                pool.make_active(standby.namenode, term=2)

        pool.on_suspect = promote
        async with asking(pool, limits_of_tests(upstream_timeout_s=0.1, failover_wait_s=HANG_S)) as a:
            answer = await ask(a, READ)
            assert (answer.namenode, answer.term) == (standby.namenode, 2)
        assert len(frozen.heads) == 1


async def test_a_write_does_not_go_on_after_a_cut_or_a_timeout() -> None:
    """Its outcome is unknown, and remains marked as unknown."""
    for act, error in ((cuts, UpstreamCutError), (is_silent, UpstreamTimeoutError)):
        async with RawNameNode(act) as one, RawNameNode() as two:
            pool = pool_of(one, two)
            async with asking(pool, limits_of_tests(upstream_timeout_s=0.1)) as a:
                call = UpstreamCall(WRITE, wanted_bytes=65536)
                try:
                    await a.ask(call)
                except error:
                    pass
                else:
                    pytest.fail("no error")
                assert call.is_pending
            assert len(two.heads) == 0


async def test_a_read_that_is_always_cut_ends() -> None:
    """The number of attempts is bounded."""
    async with RawNameNode(cuts) as one:
        pool = pool_of(one)
        async with asking(pool) as a:
            with pytest.raises(UpstreamCutError):
                await ask(a, READ)
        assert 1 < len(one.heads) < 6


async def test_a_kept_connection_that_died_costs_a_read_nothing() -> None:
    """The second attempt uses a new connection, immediately."""

    async def answers_and_leaves(heard: Heard) -> None:
        if heard.connection == 1 and len(namenode.heard) == 2:
            heard.cut()
        else:
            await heard.say(OK)

    async with RawNameNode(answers_and_leaves) as namenode:
        pool = FakePool((namenode.namenode,))
        async with asking(pool) as a:
            for _ in range(3):
                assert (await ask(a, READ)).exchange.status == 200
        assert [heard.connection for heard in namenode.heard] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "acts", [cuts, says(STANDBY_REPLY), says(RETRIABLE)], ids=["cut", "standby", "retriable"]
)
async def test_a_ticket_is_sent_to_each_namenode_once(acts: Act) -> None:
    """To the same NameNode it would be a replay, and be refused (403 GSSException); another one may accept it."""
    async with RawNameNode(acts) as one, RawNameNode() as two:
        pool = pool_of(one, two)
        async with asking(pool) as a:
            assert (await ask(a, NEGOTIATE)).namenode == two.namenode
        assert (len(one.heads), len(two.heads)) == (1, 1)


async def test_a_ticket_that_was_used_up_everywhere_ends_the_call() -> None:
    """The answer is the last NameNode's own, or the connection's error; the ticket is never replayed."""
    async with RawNameNode(says(STANDBY_REPLY)) as one:
        pool = FakePool((one.namenode,))
        async with asking(pool) as a:
            assert (await ask(a, NEGOTIATE)).exchange.start == STANDBY
        assert len(one.heads) == 1
    async with RawNameNode(cuts) as one:
        pool = FakePool((one.namenode,))
        async with asking(pool) as a:
            with pytest.raises(UpstreamCutError):
                await ask(a, NEGOTIATE)
        assert len(one.heads) == 1


async def test_a_ticket_goes_out_on_a_new_connection() -> None:
    """An idle connection may just have been closed, and then the ticket could not be sent again."""
    async with RawNameNode() as namenode:
        pool = FakePool((namenode.namenode,))
        async with asking(pool) as a:
            for head in (READ, NEGOTIATE):
                await ask(a, head)
        assert [heard.connection for heard in namenode.heard] == [1, 2]


async def test_a_call_waits_for_a_failover() -> None:
    """All NameNodes are standby; a moment later one is active."""
    async with RawNameNode(says(STANDBY_REPLY)) as one, RawNameNode(says(STANDBY_REPLY)) as two:
        pool = FakePool((one.namenode, two.namenode))

        def promote(_: object) -> None:
            if len(pool.suspected) == 5:
                two.acts = (says(OK),)
                pool.make_active(two.namenode, term=9)

        pool.on_suspect = promote
        async with asking(pool) as a:
            answer = await ask(a, WRITE)
            assert (answer.exchange.start, answer.term) == (b"ok", 9)


async def test_in_the_end_a_refusal_is_passed_on_as_it_is() -> None:
    """The NameNode's own message says best what is wrong."""
    async with RawNameNode(says(STANDBY_REPLY)) as one:
        pool = pool_of(one)
        async with asking(pool, limits_of_tests(failover_wait_s=0.2)) as a:
            answer = await ask(a, READ)
            assert (answer.exchange.status, answer.exchange.start) == (403, STANDBY)
        assert len(one.heads) > 1


async def test_without_any_namenode_the_call_ends_in_time() -> None:
    """503 after `failover_wait_s`, and no later."""
    async with RawNameNode() as gone:
        pool = FakePool((gone.namenode,))
    async with asking(pool, limits_of_tests(failover_wait_s=0.3)) as a:
        began = boottime()
        with pytest.raises((UpstreamUnavailableError, NotSentError)) as caught:
            await ask(a, READ)
        assert caught.value.status == 503
        assert boottime() - began < HANG_S


async def test_a_namenode_is_asked_even_if_the_pool_sees_none_active() -> None:
    """FailToNameNode: a NameNode that answers calls is enough, even if the pool cannot watch it."""
    async with RawNameNode() as one, asking(FakePool((one.namenode,))) as a:
        assert (await ask(a, READ)).term == NO_TERM


async def test_other_refusals_are_replies() -> None:
    """Another 403, or one that only mentions a standby, is passed on."""
    async with RawNameNode(says(DENIED)) as one:
        async with asking(FakePool((one.namenode,))) as a:
            assert (await ask(a, READ)).exchange.status == 403
        assert len(one.heads) == 1


HEAD = replace(READ, method="HEAD")
DENIED = STANDBY_REPLY.replace(b"StandbyException", b"ServletException")


def says_of(reply: bytes) -> Act:
    """Return an act that answers a GET with this reply, and a HEAD with its head, as a NameNode does."""

    async def act(heard: Heard) -> None:
        is_head = heard.head.startswith(b"HEAD ")
        await heard.say(reply.partition(HEAD_END)[0] + HEAD_END if is_head else reply)

    return act


def methods(namenode: RawNameNode) -> list[bytes]:
    """Return the methods of its calls."""
    return [head.partition(b" ")[0] for head in namenode.heads]


@pytest.mark.parametrize("refusal", [STANDBY_REPLY, RETRIABLE], ids=["standby", "retriable"])
async def test_a_head_goes_on_to_the_one_that_is_active(refusal: bytes) -> None:
    """The 403 to a HEAD has no body that names a standby; the 403 to a GET of the same path has one."""
    async with RawNameNode(says_of(refusal)) as one, RawNameNode(says_of(OK)) as two:
        pool = pool_of(one, two)
        async with asking(pool) as a:
            answer = await ask(a, HEAD)
            assert (answer.namenode, answer.exchange.status) == (two.namenode, 200)
            assert (a.counts.calls, a.counts.refused) == (1, 1)
        assert (methods(one), methods(two)) == ([b"HEAD", b"GET"], [b"HEAD"])
        assert pool.suspected == [one.namenode]


async def test_a_head_that_is_denied_stays_so() -> None:
    """If the active NameNode refuses it, no other one is asked or suspected."""
    async with RawNameNode(says_of(DENIED)) as one, RawNameNode(says_of(OK)) as two:
        pool = pool_of(one, two)
        async with asking(pool) as a:
            answer = await ask(a, HEAD)
            assert (answer.namenode, answer.exchange.status) == (one.namenode, 403)
        assert (methods(one), methods(two)) == ([b"HEAD", b"GET"], [])
        assert pool.suspected == []


async def test_a_head_is_asked_again_of_one_that_became_active() -> None:
    """It became active between the HEAD and the GET, so the 403 was a standby's."""
    async with RawNameNode(says_of(STANDBY_REPLY), says_of(OK)) as one:
        async with asking(pool_of(one)) as a:
            assert (await ask(a, HEAD)).exchange.status == 200
        assert methods(one) == [b"HEAD", b"GET", b"HEAD"]


async def test_a_head_goes_on_when_its_get_is_cut() -> None:
    """A HEAD is a read."""
    async with RawNameNode(says_of(STANDBY_REPLY), cuts) as one, RawNameNode(says_of(OK)) as two:
        async with asking(pool_of(one, two)) as a:
            assert (await ask(a, HEAD)).namenode == two.namenode
        assert methods(one) == [b"HEAD", b"GET"]


async def test_a_head_with_a_ticket_keeps_its_403() -> None:
    """The ticket is used up; with the GET it would be a replay."""
    async with RawNameNode(says_of(STANDBY_REPLY)) as one:
        async with asking(pool_of(one)) as a:
            assert (await ask(a, replace(NEGOTIATE, method="HEAD"))).exchange.status == 403
        assert methods(one) == [b"HEAD"]


class SlowToStop:
    """A request body whose reading takes a moment to cancel."""

    def __init__(self) -> None:
        self.is_begun = False
        self.spent_s = 0.0
        self.waits = asyncio.Event()

    async def read_part(self) -> bytes:
        """Wait for more data, in vain."""
        self.is_begun = True
        self.waits.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0.01)
        return b""


async def test_a_connection_returns_after_a_stopped_body() -> None:
    """A connection that is not returned would be missing for good, until none is left (FailToNameNode)."""
    limits = limits_of_tests()
    connections = ConnectionPool(limits, boottime)
    async with RawNameNode(says(OK)) as namenode, asyncio.TaskGroup() as tasks:
        asking = FailoverClient(FakePool((namenode.namenode,)).pool, limits, boottime, connections, tasks)
        body = SlowToStop()
        answer = await asking.ask(UpstreamCall(WRITE, wanted_bytes=65536, body=cast("RequestBody", body)))
        await body.waits.wait()
        closing = tasks.create_task(answer.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()
        assert connections.counts().in_use == 0


class Login:
    """A fake `ServiceLogin` with numbered cookies."""

    def __init__(self) -> None:
        self.number = 0
        self.error: Exception | None = None

    async def signed(self, head: RequestHead, _: object) -> RequestHead:
        """Return the head with the current cookie."""
        if self.error is not None:
            raise self.error
        return replace(head, headers=(*head.headers, (b"Cookie", b"hadoop.auth=%d" % self.number)))

    def refused(self, _: RequestHead, __: object) -> None:
        """Replace the cookie."""
        self.number += 1

    def replied(self, _: object, headers: Headers) -> Headers:
        """Return the fields for the client."""
        return without_service_fields(headers)


@asynccontextmanager
async def asking_as_service(pool: FakePool, login: Login) -> AsyncIterator[FailoverClient]:
    """Return a client that logs in as the service."""
    async with asking(pool) as made:
        made._login = cast("ServiceLogin", login)  # noqa: SLF001 - as `Upstream` gives it
        yield made


CHALLENGE = b"WWW-Authenticate: Negotiate\r\nSet-Cookie: hadoop.auth=\r\n"
UNAUTHORIZED = b"HTTP/1.1 401 Unauthorized\r\n" + CHALLENGE + b"Content-Length: 0\r\n\r\n"
TO_BROWSERS = b"HTTP/1.1 302 Found\r\nLocation: https://sso.x/\r\nContent-Length: 0\r\n\r\n"
RENEWED = OK.replace(b"\r\n", b"\r\nSet-Cookie: hadoop.auth=own\r\nWWW-Authenticate: Negotiate x\r\n", 1)


@pytest.mark.parametrize("refusal", [UNAUTHORIZED, TO_BROWSERS], ids=["401", "302"])
@pytest.mark.parametrize("head", [READ, WRITE], ids=["read", "write"])
async def test_a_login_that_has_ended_is_made_again_once(head: RequestHead, refusal: bytes) -> None:
    """After a 401 or 302 nothing was executed, so a write is repeated too. The service's fields reach no client."""
    async with RawNameNode(says(refusal), says(RENEWED)) as one:
        pool = pool_of(one)
        async with asking_as_service(pool, Login()) as a:
            answer = await ask(a, replace(head, acts_for="alice"))
        assert answer.exchange.status == 200
        assert not {b"set-cookie", b"www-authenticate"} & {
            name.lower() for name, _ in answer.exchange.headers
        }
        assert [b"hadoop.auth=%d" % number in sent for number, sent in enumerate(one.heads)] == [True, True]


@pytest.mark.parametrize("refusal", [UNAUTHORIZED, TO_BROWSERS], ids=["401", "302"])
async def test_a_refused_login_is_no_challenge_to_the_client(refusal: bytes) -> None:
    """The client gets the error that the service is unavailable."""
    async with RawNameNode(says(refusal), says(refusal)) as one:
        pool = pool_of(one)
        async with asking_as_service(pool, Login()) as a:
            with pytest.raises(ServiceLoginError) as failed:
                await ask(a, replace(READ, acts_for="alice"))
        assert (failed.value.status, len(one.heads)) == (503, 2)
        assert pool.suspected == []


async def test_without_a_login_no_namenode_is_asked_or_suspected() -> None:
    """The NameNode is not at fault."""
    (login := Login()).error = ServiceLoginError("no ticket")
    async with RawNameNode() as one:
        pool = FakePool((one.namenode,))
        async with asking_as_service(pool, login) as a:
            with pytest.raises(ServiceLoginError):
                await ask(a, replace(READ, acts_for="alice"))
        assert (one.heads, pool.suspected) == ([], [])
