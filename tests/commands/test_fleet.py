"""`nncache fleet`: parallel requests to many proxies, the receivers of the token, and the cost of a broken proxy."""

import asyncio
import io
import json
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from nncache.commands.fleet import follow
from nncache.commands.fleet_client import (
    MAX_ANSWER_BYTES,
    Fleet,
    FleetMember,
    MemberAnswer,
    read_members,
    require_all,
    shown,
)
from nncache.commands.fleet_view import answers_as_json, screen, seen, status_row
from nncache.commands.group import nncache
from nncache.coordination.zookeeper import SetDataOp
from nncache.daemons.proxy_status import status_of
from nncache.errors import ConfigurationError, FleetError
from nncache.registry.daemon_record import ADMIN_API, KIND, PLACE, PROXY, PUBLISHER, RegisteredDaemon
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.settings.commands import FLEET, SettingsOfFleet, load_settings
from nncache.testbed.certificates import Authority
from tests.daemons.test_proxy_status import SEEN
from tests.http_server import Answer as Served
from tests.http_server import answering, serving
from tests.patience import HANG_S, until_so
from tests.processes import free_address
from tests.registry.samples import fake_registry
from tests.tls import server_context

TOKEN = "0123456789abcdef"
STATUS: dict[str, Any] = json.loads(msgspec.json.encode(status_of(SEEN)))


def settings(**flags: str) -> SettingsOfFleet:
    """Return the settings with these flags."""
    return load_settings(FLEET, None, {"zookeeper": ("zk:2181",), "hadoop_conf_dir": "", **flags})


def token_file(directory: Path) -> str:
    """Return the path of a file with the token."""
    file = directory / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o400)
    return str(file)


def asked(
    of: SettingsOfFleet, members: Iterable[FleetMember], within_s: float = HANG_S
) -> list[MemberAnswer]:
    """Return each member's answer for /status."""

    async def ask() -> list[MemberAnswer]:
        async with Fleet(of, within_s) as fleet:
            return await fleet.ask_all([*members], "/status")

    return asyncio.run(ask())


def test_one_that_hangs_delays_no_other() -> None:
    """The hanging proxies answer only after all others have; asked one after the other, they would take too long."""
    answered = threading.Event()

    def hangs(_: BaseHTTPRequestHandler) -> Served:
        assert answered.wait(HANG_S)
        return 200, {}, b"{}"

    def answers(_: BaseHTTPRequestHandler) -> Served:
        answered.set()
        return 200, {}, b'{"a": 1}'

    with serving(hangs) as hanging, serving(answers) as good:
        members = [
            *(FleetMember(f"h{n}", f"http://{hanging}") for n in range(8)),
            FleetMember("z", f"http://{good}"),
        ]
        found = asked(settings(), members)
    assert found[-1] == MemberAnswer("z", {"a": 1})
    assert {each.why for each in found} == {""}


def test_what_is_silent_gone_or_no_proxy_costs_only_itself() -> None:
    """Each failure is named. Redirects are not followed; endless or deeply nested answers are not read."""
    silent = threading.Event()

    def answer(request: BaseHTTPRequestHandler) -> Served:
        match request.path.split("/")[1]:
            case "silent":
                silent.wait(HANG_S)
                return 200, {}, b"{}"
            case "moved":
                return 302, {"Location": "/good/status"}, b"{}"
            case "large":
                return 200, {}, b'{"a": "' + b"x" * MAX_ANSWER_BYTES + b'"}'
            case "deep":
                return 200, {}, b"[" * 100_000
            case "refused":
                return 401, {}, b'{"error": "this page needs a token"}'
            case _:
                return 200, {}, json.dumps(STATUS).encode()

    names = ("deep", "good", "large", "moved", "refused")
    with serving(answer) as address:
        members = [FleetMember(name, f"http://{address}/{name}") for name in names]
        members += [FleetMember("unread", "", "no URL"), FleetMember("void", f"http://{free_address()}")]
        answers = asked(settings(), members)
        answers += asked(settings(), [FleetMember("silent", f"http://{address}/silent")], within_s=0.2)
        silent.set()
    found = {each.name: each for each in answers}
    assert found["good"].document == STATUS
    whys = {name: each.why for name, each in found.items()}
    assert "is not the admin port of an nncache proxy" in whys["deep"]
    assert whys["large"] == f"answered more than {MAX_ANSWER_BYTES} bytes"
    assert "answered 302" in whys["moved"]
    assert "answered 401: this page needs a token" in whys["refused"]
    assert whys["silent"] == "no answer within 0.2 s"
    assert whys["unread"] == "no URL"
    assert whys["void"].startswith("cannot connect to 127.0.0.1:")
    with pytest.raises(FleetError) as raised:
        require_all([*found.values()], "purged:")
    assert raised.value.lines[-1] == "purged: 1 of 8 registered proxies"
    assert len(raised.value.lines) == 8
    assert raised.value.exit_code == 1


def test_the_token_goes_to_certificates_of_the_authority_alone(tmp_path: Path) -> None:
    """The registry holds the proxies' addresses, and clients other than operators may write to it."""
    file = token_file(tmp_path)
    with pytest.raises(ConfigurationError, match=r"^admin_ca: none: must be given with admin_token_file"):
        settings(admin_token_file=file)
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    tokens: list[str | None] = []
    with (
        answering(200, b"{}", tokens, tls=server_context(ours, "localhost")) as (good, _),
        answering(200, b"{}", tokens, tls=server_context(theirs, "localhost")) as (foreign, _),
        answering(200, b"{}", tokens) as (plain, _),
    ):
        members = [
            FleetMember("good", f"https://{good.replace('127.0.0.1', 'localhost')}"),
            FleetMember("foreign", f"https://{foreign.replace('127.0.0.1', 'localhost')}"),
            FleetMember("plain", f"http://{plain}"),
        ]
        found = asked(settings(admin_token_file=file, admin_ca=str(ours.ca)), members)
    assert tokens == [f"Bearer {TOKEN}"]
    assert found[0] == MemberAnswer("good", {})
    assert "certificate is not trusted" in found[1].why
    assert "is plain HTTP, over which no token is sent" in found[2].why


async def test_entries_that_name_no_admin_port_are_members_that_failed() -> None:
    """A skipped proxy would keep its entries. Publishers and other services have no cache and are not members."""
    registry = fake_registry()
    session: Any = registry.zookeeper
    session.connect(77)
    await registry.make_root()
    assert await read_members(registry) == ()
    await registry.mknode(PLACE, create_parents=True)
    for daemon in (
        RegisteredDaemon(kind=PROXY, host="b", port=1, admin="https://[::1]:9872/"),
        RegisteredDaemon(kind=PUBLISHER, host="p", port=2, admin="http://p:9873/"),
    ):
        await registry.bind(daemon.path, daemon.record)
    await registry.bind(f"{PLACE}/a", ServiceRecord(attributes={KIND: PROXY}))
    ftp = uri_endpoint(ADMIN_API, "webui", "ftp://h:1/")
    await registry.bind(f"{PLACE}/c", ServiceRecord(internal=(ftp,), attributes={KIND: PROXY}))
    await registry.bind(f"{PLACE}/other", ServiceRecord())
    for name in ("d", "publisher-q-1"):
        await registry.mknode(f"{PLACE}/{name}")
        await session.commit([SetDataOp(registry.znode(f"{PLACE}/{name}"), b'{"type": "JSONServiceRecord"')])
    found = await read_members(registry)
    assert [(each.name, each.admin) for each in found] == [
        ("a", ""),
        ("c", ""),
        ("d", ""),
        ("proxy-b-1", "https://[::1]:9872"),
    ]
    assert [bool(each.fault) for each in found] == [True, True, True, False]
    assert found[2].fault.startswith("its entry in the registry cannot be read: ")


def some_answers() -> list[MemberAnswer]:
    """Return the answers of two serving proxies, a hanging one, another daemon and an incomplete one."""
    return [
        MemberAnswer("a", STATUS),
        MemberAnswer("b", STATUS | {"is_ready": False, "reason": "stopping"}),
        MemberAnswer("c", None, "no answer within 5 s"),
        MemberAnswer("d", STATUS | {"daemon": "publisher"}),
        MemberAnswer("e", {"daemon": "proxy"}),
    ]


def printed(found: list[MemberAnswer]) -> str:
    """Return the screen of `nncache fleet top` as text."""
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(screen(shown(found, seen), 10))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_figures_are_sums_and_failures_have_a_row() -> None:
    """Two equal proxies show twice the requests of one. Each failed member has a line with its reason."""
    one, two = printed(some_answers()[:1]), printed(some_answers())
    minute = STATUS["saved"]["last_minute"]
    assert f"1 of 1 registered proxies answer: {minute['requests_per_s']:,.1f} requests/s" in one
    assert f"2 of 5 registered proxies answer: {2 * minute['requests_per_s']:,.1f} requests/s" in two
    assert f"{100 * minute['ratio']:.1f} % from memory" in two
    for kind in ("paths", "callers", "addresses"):
        hot = STATUS["hottest"][kind][0]
        assert f"{hot['per_s']:,.1f}  {hot['name']}" in one
        assert f"{2 * hot['per_s']:,.1f}  {hot['name']}" in two
    reason = STATUS["misses"][0]
    assert f"{2 * reason['requests']:,}" in next(
        line for line in two.splitlines() if reason["meaning"] in line
    )
    assert "c: no answer within 5 s" in two
    assert "d: its answer is not a proxy's: ValueError: it is a publisher's" in two
    assert "e: its answer is not a proxy's: KeyError: 'saved'" in two
    assert "0 of 0 registered proxies answer: 0.0 requests/s, no requests from memory" in printed([])


def test_a_line_and_a_document_for_each() -> None:
    """People get a line for each proxy, programs a document."""
    assert status_row(STATUS)[:2] == ("ready", "gate open")
    assert status_row(some_answers()[1].document or {})[0] == "not ready"
    document = json.loads(answers_as_json(some_answers()[:3]))
    assert list(document["proxies"]) == ["a", "b"]
    assert document["proxies"]["a"] == STATUS
    assert document["failed"] == {"c": "no answer within 5 s"}


def test_a_figure_beyond_all_numbers_costs_only_itself() -> None:
    """JSON allows 1e999, which Python reads as infinity."""
    since_start = STATUS["saved"]["since_start"] | {"failed": json.loads("1e999")}
    infinite = STATUS | {"saved": STATUS["saved"] | {"since_start": since_start}}
    (_, none), (_, row) = shown([MemberAnswer("a", infinite), MemberAnswer("b", STATUS)], seen)
    assert none is None
    assert row is not None
    assert "a: its answer is not a proxy's: OverflowError" in printed([MemberAnswer("a", infinite)])


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["explain"], "/explain?path=%2Fa%2F%E9"),
        (["purge", "--subtree"], "/purge?path=%2Fa%2F%E9&subtree=true"),
    ],
)
def test_bytes_that_are_no_utf_8_reach_each_proxy(
    words: list[str], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are sent as the shell passed them."""
    targets: list[str] = []

    def ask(_settings: object, _within_s: float, target: str, _method: str = "GET") -> list[MemberAnswer]:
        targets.append(target)
        return []

    monkeypatch.setattr("nncache.commands.fleet.ask_once", ask)
    result = CliRunner().invoke(nncache, ["fleet", *words, "/a/\udce9", "--zookeeper", "zk:2181"])
    assert result.exception is None
    assert targets == [target]


async def test_live_each_is_asked_apart() -> None:
    """One proxy hangs all the time. The figures of the other are refreshed meanwhile."""
    ended = threading.Event()

    def hangs(_: BaseHTTPRequestHandler) -> Served:
        ended.wait(HANG_S)
        return 200, {}, b"{}"

    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with serving(hangs) as hanging, answering(200, json.dumps(STATUS).encode()) as (good, asks):
        members = [FleetMember("a", f"http://{good}"), FleetMember("b", f"http://{hanging}")]
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(follow(Fleet(settings(), HANG_S), members, 3, console))
            assert isinstance(console.file, io.StringIO)
            file = console.file
            await until_so(lambda: "1 of 2 registered proxies" in file.getvalue() and len(asks) > 1)
            following.cancel()
        ended.set()
    assert "b: not asked yet" in console.file.getvalue()
