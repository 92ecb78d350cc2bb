"""Generate audit logs of any size, with pollers whose savings by a proxy are known. (nncache/advisor/generator.py)

Needs only the standard library: Spark's executors get it by value. Each part has pollers of its own and its share of
the other lines, in order of time, like the log of one of several NameNodes. Time is virtual.

The other lines follow the published shares of Spotify's operations (HopsFS: open 69 %, status 17 %, listing 9 %, the
rest writes). The truth is counted together with the lines, from facts that an audit log lacks: the type of a path, and
when it was closed.
"""

import datetime as dt
import heapq
import random
from collections.abc import Iterator
from typing import Final, NamedTuple

LINES_PER_S: Final = 2_000
POLL_SHARE: Final = 0.4
"""The approximate share of lines by pollers."""
PERIODS_S: Final = (2.0, 5.0, 10.0, 15.0)
CHANGE_EVERY_S: Final = 900.0
ENTRY_S: Final = 3600.0
RIGHT_S: Final = 300.0
STARTS_AT: Final = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
_SECONDS: Final[dict[int, str]] = {}  # no lru_cache: it is pickled by name
_SYLLABLES: Final = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "to")

_SHARES: Final = (
    # cumulative share (Spotify's), command and kind of path
    (0.69, "open"),
    (0.78, "status of a file"),
    (0.82, "status of what is read once"),
    (0.86, "status of a directory"),
    (0.945, "listStatus"),
    (0.970, "create"),
    (0.983, "rename"),
    (0.991, "delete"),
    (0.994, "mkdirs"),
    (0.998, "setReplication"),
    (1.0, "refused"),
)


class Spec(NamedTuple):
    """The parameters of a generated log.

    Attributes:
        lines: the approximate number of lines.
        globs: the number of planted globs.
        parts: the number of parts of the log.
        hot: whether all planted globs belong to one user and lie below one directory.
    """

    lines: int
    globs: int = 200
    parts: int = 4
    seed: int = 1
    hot: bool = False

    @property
    def seconds(self) -> float:
        """The time span of the log in seconds."""
        return self.lines / LINES_PER_S


class Truth(NamedTuple):
    """The results of a proxy for the reads of one planted glob, over one protocol."""

    glob: str
    example: str  # one of its paths
    is_web: bool
    reads: int
    hits: int
    calls: int
    paths: int


class _Planted(NamedTuple):
    glob: str
    paths: tuple[str, ...]
    user: str
    pollers: tuple[tuple[float, str, str], ...]  # period, path, user
    is_web: bool


def word(number: int) -> str:
    """Return the name of a number, without digits; each number has a distinct name."""
    found = ""
    number += len(_SYLLABLES)
    while number:
        number, least = divmod(number, len(_SYLLABLES))
        found += _SYLLABLES[least]
    return found


def planted(spec: Spec, number: int) -> _Planted:
    """Return the planted glob of a number."""
    chance = random.Random(f"{spec.seed}:planted:{number}")
    name = word(number)
    user = "hot" if spec.hot else name
    count = chance.randint(2, 4)
    days = [f"2026-{chance.randint(1, 10):02}-{day:02}" for day in chance.sample(range(1, 29), count)]
    if spec.hot:
        glob, paths = f"/user/hot/{name}/*/_SUCCESS", [f"/user/hot/{name}/{day}/_SUCCESS" for day in days]
    else:
        match number % 5:
            case 0:
                glob = f"/user/{name}/workflow/*/*/*/_SUCCESS"
                paths = [f"/user/{name}/workflow/{day.replace('-', '/')}/_SUCCESS" for day in days]
            case 1:
                glob = f"/data/{name}/events/dt=*/_SUCCESS"
                paths = [f"/data/{name}/events/dt={day}/_SUCCESS" for day in days]
            case 2:
                glob = f"/apps/{name}/flags/*.ready"
                paths = [f"/apps/{name}/flags/{day}.ready" for day in days]
            case 3:
                glob = f"/warehouse/{name}.db/fact/ds=*/hour=*/_SUCCESS"
                paths = [f"/warehouse/{name}.db/fact/ds={day}/hour={day[-2:]}/_SUCCESS" for day in days]
            case _:
                glob = f"/streams/{name}/commits/done"
                paths = [glob]
    share = POLL_SHARE * LINES_PER_S / spec.globs  # polls a second
    pollers: list[tuple[float, str, str]] = []
    while share > 0:
        period = chance.choice(PERIODS_S)
        path = paths[len(pollers) % len(paths)]
        pollers.append((period, path, f"{user}{len(pollers) % 3 or ''}"))
        share -= 1 / period
    return _Planted(glob, tuple(paths), user, tuple(pollers), chance.random() < 0.7)  # noqa: PLR2004 - a share


class _Counting:
    """A model of a proxy that is given the type of each path."""

    def __init__(self) -> None:
        self.reads = self.hits = self.calls = 0
        self._entries: dict[str, float] = {}
        self._rights: dict[tuple[str, str], float] = {}

    def read(self, at: float, path: str, user: str, *, is_file: bool) -> None:
        right = path.rpartition("/")[0], user
        self.reads += 1
        is_kept = self._entries.get(path, -1.0) > at
        if is_kept and self._rights.get(right, -1.0) > at:
            self.hits += 1
            return
        self._rights[right] = at + RIGHT_S
        self.calls += 1 + (is_file and not is_kept)
        if not (is_file and is_kept):
            self._entries[path] = at + ENTRY_S

    def changed(self, path: str) -> None:
        self._entries.pop(path, None)

    def changed_below(self, directory: str) -> None:
        self._entries = {p: until for p, until in self._entries.items() if p.rpartition("/")[0] != directory}
        self._rights = {key: until for key, until in self._rights.items() if key[0] != directory}


def _poll_events(spec: Spec, one: _Planted, number: int) -> Iterator[tuple[float, str, str, str]]:
    """Yield time, kind, path and user of each read and change at a planted glob, in order."""
    chance = random.Random(f"{spec.seed}:polls:{number}")
    waiting: list[tuple[float, int, str, float, str, str]] = []
    for place, (period, path, user) in enumerate(one.pollers):
        heapq.heappush(waiting, (chance.random() * period, place, "read", period, path, user))
    for place, path in enumerate(one.paths, start=len(one.pollers)):
        heapq.heappush(
            waiting, (chance.expovariate(1 / CHANGE_EVERY_S), place, "change", 0.0, path, one.user)
        )
    while waiting and waiting[0][0] < spec.seconds:
        at, place, what, period, path, user = waiting[0]
        yield at, what, path, user
        follows = period if what == "read" else chance.expovariate(1 / CHANGE_EVERY_S) + 0.01
        heapq.heapreplace(waiting, (at + follows, place, what, period, path, user))


def _planted_lines(spec: Spec, number: int, truth: _Counting) -> Iterator[tuple[float, str]]:
    one = planted(spec, number)
    chance = random.Random(f"{spec.seed}:changes:{number}")
    files = set[str]()
    for at, what, path, user in _poll_events(spec, one, number):
        if what == "read":
            truth.read(_shown(at), path, user, is_file=path in files)
            yield at, _line(at, user, "getfileinfo", path, is_web=one.is_web)
            continue
        directory = path.rpartition("/")[0]
        kind = chance.choice(
            ("touch", "delete", "delete", "forbid") if path in files else ("rename", "rename", "create")
        )
        match kind:
            case "rename":
                files.add(path)
                yield (
                    at,
                    _line(
                        at, user, "rename", f"{directory}/_tmp.{number}", path, perm=f"{user}:users:rw-r--r--"
                    ),
                )
            case "create":
                files.add(path)
                yield at, _line(at, user, "create", path, perm=f"{user}:users:rw-r--r--")
            case "touch":
                yield at, _line(at, user, "setTimes", path, perm=f"{user}:users:rw-r--r--")
            case "delete":
                files.discard(path)
                yield at, _line(at, user, "delete", path)
            case _:
                yield at, _line(at, user, "setPermission", directory, perm=f"{user}:users:rwxr-x---")
                truth.changed_below(directory)
        truth.changed(path)
        if (
            kind in {"rename", "create"} and one.is_web
        ):  # a client that waited for the file reads it: three lines, none of which can be saved
            for after, command, is_web in (
                (0.5, "getfileinfo", True),
                (0.504, "open", True),
                (0.52, "open", False),
            ):
                yield at + after, _line(at + after, user, command, path, is_web=is_web)


def _shown(at: float) -> float:
    """Return a time as a line shows it."""
    return int(at * 1000) / 1000


def _others(spec: Spec, part: int) -> Iterator[tuple[float, str]]:
    """Yield the lines of clients other than pollers: reads and writes of tables, and paths that are read once."""
    chance = random.Random(f"{spec.seed}:others:{part}")
    rate = LINES_PER_S * (1 - POLL_SHARE) / spec.parts
    at = chance.expovariate(rate)
    while at < spec.seconds:
        user = f"u{min(int(chance.paretovariate(1.2)), 400):03}"
        job = chance.randrange(5000)
        table = f"/lake/raw/{word(job % 40)}/dt=2026-{job % 12 + 1:02}-{job % 28 + 1:02}/hour={job % 24:02}"
        ids = f"{job:08x}-4c1b-4d5e-9f10-{chance.getrandbits(48):012x}"
        file = f"{table}/part-{chance.randrange(400):05}-{ids}.c000.snappy.parquet"
        context = (
            f"SPARK_TASK_application_{1_700_000_000_000 + job}_{job:04}_JId_1_SId_{job % 7}_0_TId_{job}_0"
        )
        drawn = chance.random()
        command = next(name for share, name in _SHARES if drawn < share)
        match command:
            case "open" if drawn < 0.02:  # noqa: PLR2004 - a share: over WebHDFS, which reads the status first
                yield at, _line(at, user, "getfileinfo", file, is_web=True)
                yield at + 0.002, _line(at + 0.002, user, "open", file, is_web=True)
            case "open" | "setReplication":
                yield at, _line(at, user, command, file, context=context)
            case "status of a file":
                yield at, _line(at, user, "getfileinfo", file, context=context)
            case "status of what is read once":
                staging = f"/tmp/hive/{user}/{ids}/.hive-staging_hive_2026-11-01_{job}/_tmp.-ext-10002"
                once = f"/user/{word(1000 + job)}/workflow/2026/01/{job % 28 + 1:02}/_SUCCESS"
                yield at, _line(at, user, "getfileinfo", staging if job % 2 else once, context=context)
            case "status of a directory":
                yield (
                    at,
                    _line(
                        at, user, "getfileinfo", f"{table}/_temporary/0/_temporary/attempt_{job}_{drawn:.9f}"
                    ),
                )
            case "listStatus" | "mkdirs" | "delete":
                yield (
                    at,
                    _line(
                        at, user, command, table if command == "listStatus" else f"{table}/_temporary/{job}"
                    ),
                )
            case "create":
                yield (
                    at,
                    _line(
                        at, user, command, f"{table}/_temporary/0/{file.rpartition('/')[2]}", context=context
                    ),
                )
            case "rename":
                yield at, _line(at, user, command, f"{table}/_temporary/0/{file.rpartition('/')[2]}", file)
            case _:
                yield at, _line(at, user, "getfileinfo", f"/user/secret{job}/x\\u00E4=1", is_allowed=False)
        at += chance.expovariate(rate)


def _second(number: int) -> str:
    """Return a second in a line's format; the last one is cached."""
    if number not in _SECONDS:
        _SECONDS.clear()
        _SECONDS[number] = f"{STARTS_AT + dt.timedelta(seconds=number):%Y-%m-%d %H:%M:%S}"
    return _SECONDS[number]


def _line(  # noqa: PLR0913 - one for each field
    at: float,
    user: str,
    command: str,
    source: str,
    destination: str = "null",
    *,
    perm: str = "null",
    is_web: bool = False,
    is_allowed: bool = True,
    context: str = "",
) -> str:
    second, ms = divmod(int(at * 1000), 1000)
    suffix = f"\tcallerContext={context}" if context else ""
    return (
        f"{_second(second)},{ms:03} INFO FSNamesystem.audit: "
        f"allowed={'true' if is_allowed else 'false'}\tugi={user} (auth:SIMPLE)\tip=/10.0.0.1\tcmd={command}"
        f"\tsrc={source}\tdst={destination}\tperm={perm}\tproto={'webhdfs' if is_web else 'rpc'}{suffix}"
    )


def lines_of(spec: Spec, part: int) -> Iterator[str]:
    """Yield one part of the log, in order of time."""
    mine = [_planted_lines(spec, number, _Counting()) for number in range(part, spec.globs, spec.parts)]
    for _, line in heapq.merge(_others(spec, part), *mine, key=lambda each: each[0]):
        yield line


def truth_of(spec: Spec, part: int) -> Iterator[Truth]:
    """Yield the results of a proxy for the reads of this part's planted globs."""
    for number in range(part, spec.globs, spec.parts):
        one, counting = planted(spec, number), _Counting()
        for _ in _planted_lines(spec, number, counting):
            pass
        yield Truth(
            one.glob, one.paths[0], one.is_web, counting.reads, counting.hits, counting.calls, len(one.paths)
        )
