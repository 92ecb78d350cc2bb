"""The listing of places matches the source."""

import ast

from tests.races.places import APPLY, FILL, FORWARD, PACKAGE, Kind, Places


def test_every_await_of_the_listed_modules_is_listed() -> None:
    """A second count finds as many; timeouts only set a timer and are no places."""
    for module in FILL + FORWARD + APPLY:
        tree = ast.parse((PACKAGE / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        timers = [
            node
            for node in nodes
            if isinstance(node, ast.AsyncWith)
            and ast.unparse(node.items[0].context_expr).startswith(
                ("asyncio.timeout(", "asyncio.timeout_at(", "answer_timeout(", "AnswerTimeout(")
            )
        ]
        expected = sum(isinstance(node, ast.Await | ast.AsyncFor) for node in nodes)
        expected += 2 * (sum(isinstance(node, ast.AsyncWith) for node in nodes) - len(timers))
        assert len(Places([module]).all) == expected, module


def test_a_place_has_a_name_that_outlives_its_line_number() -> None:
    """A table can refer to a place by its key; no two keys are equal."""
    places = Places(FILL + FORWARD + APPLY).all
    keys = {place.key for place in places}
    assert len(keys) == len(places)
    assert "proxy.decide.flights.Flights._run: await self._fetch" in keys
    assert {place.kind for place in places} == set(Kind)


ASIDE = {
    "auditing.auditor",  # answers no WebHDFS call
    "proxy.clients.counted_answer",  # answers no call of WebHDFS
    "events.callers",  # the same
    "events.endpoint",  # the same
    "events.feed",  # the same
    "events.stream",  # the same
    "registry.rest.endpoint",  # the same
    "registry.rest.fair_limiter",  # the same
    "registry.rest.waits",  # passes the call to the front end of its namespace before it starts
    "federation.mounted",  # waits before there is a call
    "tls_server.listener",  # waits before there is a call
    "spnego.handshakes",  # the same
    "spnego.impersonation",  # the same
    "spnego.replays",  # reads at startup, then independently of calls
    "spnego.signing_keys",  # reads a file
    "spnego.terminator",  # waits before there is a call
    "proxy.upstream.service_login",  # like `ConnectionPool.acquire`, which is raced, before the call is sent
    "hadoop.rpc.namespace_calls",  # of the command line and of the publisher
}
"""Modules in which no client's call waits."""


def test_every_module_in_which_a_call_may_wait_is_listed() -> None:
    """Each new module is raced like the others, or listed here with a reason."""
    listed = {*FILL, *FORWARD, *APPLY}
    for room in ("proxy", "hadoop/rpc"):
        for path in (PACKAGE / room).glob("**/*.py"):
            module = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
            assert module in listed or module in ASIDE or not Places([module]).all, module
