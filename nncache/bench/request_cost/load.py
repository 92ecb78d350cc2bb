"""Load of each shape on a server, for some seconds.

`wrk` asks where connections are kept; where each request has its own, a few threads of this process do: they cost more
than the server, which is all the same, since its CPU alone counts.
"""

import socket
import threading
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from nncache.bench.request_cost.figures import Name, Round, Shape
from nncache.bench.servers.counters import use_of
from nncache.bench.wrk import Counted, ask_for

PATHS: Final = 1_000
ROOT: Final = "/bench-http"
CONNECTIONS: Final = {
    Shape.REPEATED: 64,
    Shape.REPEATED_BY_MANY: 10_000,
    Shape.VARYING: 64,
    Shape.FORWARDED: 32,
    Shape.OUTSIDE: 32,
    Shape.MISS: 32,
    Shape.ALONE: 1,
}
IDLE_CONNECTIONS: Final = 5_000
IDLE_REQUESTS: Final = 6
_IDLE_BEFORE: Final = 200  # what the first ones take is the server's own
_THREADS: Final = 8  # where each request has a connection of its own
_FIRST_LINES: Final = {
    Shape.CONNECTION_EACH: "HTTP/1.1",
    Shape.CLOSE: "HTTP/1.1\r\nConnection: close",
    Shape.HTTP_1_0: "HTTP/1.0",
}
"""How a request goes on behind its target, where each has a connection of its own."""
_TIMEOUT_S: Final = 20.0
_TARGET: Final = f"/webhdfs/v1{ROOT}/%d/%d?op=GETFILESTATUS&user.name=joe"
_LISTED: Final = f"/webhdfs/v1{ROOT}/listed/%d?op=LISTSTATUS&user.name=joe"
_OUTSIDE: Final = f"/webhdfs/v1{ROOT}/listed/%d?op=GETFILESTATUS&user.name=joe"
_NEW: Final = f"/webhdfs/v1{ROOT}/%d/{{run}}-%d?op=GETFILESTATUS&user.name=joe"
_SCRIPT: Final = f"""\
local requests, number = {{{{}}}}, 0
local function status(path) return string.format("{_TARGET}", path % 10, path) end
local function listing(path) return string.format("{_LISTED}", path % 10) end
local function outside(path) return string.format("{_OUTSIDE}", path % 10) end
init = function()
  for path = 0, {{paths}} - 1 do
    requests[path] = wrk.format("GET", {{target}})
  end
end
request = function()
  number = {{next}}
  return {{request}}
end
"""
_REPEATED: Final = "requests[number]"
_IN_TURN: Final = f"(number + 1) % {PATHS}"
_ANOTHER: Final = "number + 1"
_VARYING: Final = (
    '(requests[number]:gsub("\\r\\n\\r\\n", string.format('
    '"\\r\\ntraceparent: 00-%032x-%016x-01\\r\\n\\r\\n", math.random(2^30), math.random(2^30))))'
)


def path_of(number: int) -> str:
    """Return one of the paths that are polled."""
    return f"{ROOT}/{number % 10}/{number}"


def listed_path_of(number: int) -> str:
    """Return one of the directories that are listed."""
    return f"{ROOT}/listed/{number}"


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the processes whose CPU time counts."""

    name: Name
    address: str
    pids: Sequence[int]
    namenode_pid: int

    def cpu_s(self) -> float:
        """Return the CPU seconds that it has used so far."""
        return sum(use_of(pid)[0] for pid in self.pids)

    def resident(self) -> int:
        """Return the bytes of memory that it takes."""
        return sum(use_of(pid)[1] for pid in self.pids)


@dataclass(frozen=True, slots=True)
class Idle:
    """What a server and the NameNode take without load, in CPUs: polls, probes, a JVM's own work."""

    server: float = 0.0
    namenode: float = 0.0


_NOTHING: Final = Idle()


def measure_idle(targets: Collection[Target], seconds: float) -> dict[Name, Idle]:
    """Return what each takes for so long without load, all at the same time."""
    begun, before = time.monotonic(), [(each.cpu_s(), use_of(each.namenode_pid)[0]) for each in targets]
    time.sleep(seconds)
    took_s = time.monotonic() - begun
    return {
        each.name: Idle((each.cpu_s() - server) / took_s, (use_of(each.namenode_pid)[0] - namenode) / took_s)
        for each, (server, namenode) in zip(targets, before, strict=True)
    }


def measure(shape: Shape, target: Target, seconds: int, idle: Idle = _NOTHING) -> Round:
    """Load a server for so long, and say what it did and what that cost beyond what is taken when it is idle."""
    before, begun = (target.cpu_s(), use_of(target.namenode_pid)[0]), time.monotonic()
    if shape in _FIRST_LINES:
        counted = _with_a_connection_each(shape, target.address, seconds)
    else:
        counted = _with_wrk(shape, target.address, seconds)
    after, took_s = (target.cpu_s(), use_of(target.namenode_pid)[0]), time.monotonic() - begun
    return Round(
        shape=shape,
        name=target.name,
        requests=counted.requests,
        failed=counted.failed,
        cpu_s=max(0.0, after[0] - before[0] - idle.server * took_s),
        namenode_cpu_s=max(0.0, after[1] - before[1] - idle.namenode * took_s),
        p50_s=counted.p50_s,
    )


def _with_wrk(shape: Shape, address: str, seconds: int) -> Counted:
    target, after, request = "status(path)", _IN_TURN, _REPEATED
    match shape:
        case Shape.FORWARDED | Shape.ALONE:
            target = "listing(path)"
        case Shape.OUTSIDE:
            target = "outside(path)"
        case Shape.VARYING:
            request = _VARYING
        case Shape.MISS:  # of paths that are not there, none of which was asked for before
            new = _NEW.format(run=uuid.uuid4().hex)
            after, request = _ANOTHER, f'wrk.format("GET", string.format("{new}", number % 10, number))'
        case _:
            pass
    script = _SCRIPT.format(paths=PATHS, target=target, next=after, request=request)
    counted = ask_for(address, script, connections=CONNECTIONS[shape], seconds=seconds)
    if shape is Shape.MISS:  # each is to be answered with 404, which wrk takes for a failure
        return replace(counted, failed=abs(counted.requests - counted.failed))
    return counted


def bytes_per_connection(target: Target) -> float:
    """Return what an idle connection takes that has asked a few times for what is answered from memory."""
    host, _, port = target.address.rpartition(":")

    def connect(number: int) -> None:
        sock = close.enter_context(socket.socket())
        sock.bind((f"127.0.0.{2 + number % 8}", 0))  # ephemeral ports are counted for each address
        sock.settimeout(_TIMEOUT_S)
        sock.connect((host, int(port)))
        for _ in range(IDLE_REQUESTS):
            sock.sendall(f"GET {_TARGET % (0, 0)} HTTP/1.1\r\nHost: {target.address}\r\n\r\n".encode())
            sock.recv(65_536)

    with ExitStack() as close:
        for number in range(_IDLE_BEFORE):
            connect(number)
        before = target.resident()
        for number in range(IDLE_CONNECTIONS):
            connect(number)
        return (target.resident() - before) / IDLE_CONNECTIONS


def _with_a_connection_each(shape: Shape, address: str, seconds: int) -> Counted:
    host, _, port = address.rpartition(":")
    until, took, failed = time.monotonic() + seconds, list[float](), list[int]()

    def ask(first: int) -> None:
        number, lost = first, 0
        while (begun := time.monotonic()) < until:
            number += 1
            target = _TARGET % (number % PATHS % 10, number % PATHS)
            request = f"GET {target} {_FIRST_LINES[shape]}\r\nHost: {address}\r\n\r\n"
            try:
                with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as sock:
                    sock.sendall(request.encode())
                    lost += not sock.recv(65_536).startswith(b"HTTP/1.1 200")
                    if shape is not Shape.CONNECTION_EACH:
                        sock.recv(65_536)  # the server ends it
            except OSError:
                lost += 1
            took.append(time.monotonic() - begun)
        failed.append(lost)

    threads = [threading.Thread(target=ask, args=(number * 97,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counted(len(took), sum(failed), median(took))
