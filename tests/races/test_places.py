"""What the machine lists is what the source has."""

import ast

from tests.races.places import APPLY, FILL, FORWARD, PACKAGE, Kind, Places


def test_every_await_of_the_listed_modules_is_listed() -> None:
    """Counted another way; timeouts only set a timer and are no places."""
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
    """So that a table can go by it; no two have the same."""
    places = Places(FILL + FORWARD + APPLY).all
    keys = {place.key for place in places}
    assert len(keys) == len(places)
    assert "proxy.decide.flights.Flights._run: await self._fetch" in keys
    assert {place.kind for place in places} == set(Kind)


ASIDE = {
    "auditing.auditor",  # asks by itself, and keeps nothing
    "proxy.clients.counted_answer",  # answers no call of WebHDFS
    "events.callers",  # the same
    "events.endpoint",  # the same
    "events.feed",  # the same
    "events.stream",  # the same
    "registry.rest.endpoint",  # the same
    "registry.rest.fair_limiter",  # the same
    "registry.rest.waits",  # the same
    "federation.mounted",  # hands the call on to the front end of its namespace, before it has begun
    "tls_server.listener",  # waits before there is a call
    "spnego.handshakes",  # the same
    "spnego.impersonation",  # the same
    "spnego.replays",  # asks at the start, and then beside all calls
    "spnego.signing_keys",  # looks at a file
    "spnego.terminator",  # waits before there is a call
    "proxy.upstream.service_login",  # as `Connections.acquire`, which is raced, before the call is sent
    "hadoop.rpc.namespace_calls",  # of the command line, and of the publisher
}
"""Modules for which no call of a client waits."""


def test_every_module_in_which_a_call_may_wait_is_listed() -> None:
    """A new one is raced like the others."""
    listed = {*FILL, *FORWARD, *APPLY}
    for room in ("proxy", "hadoop/rpc"):
        for path in (PACKAGE / room).glob("**/*.py"):
            module = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
            assert module in listed or module in ASIDE or not Places([module]).all, module
