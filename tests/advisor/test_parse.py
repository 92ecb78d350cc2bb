"""Spark and the plain Python twin parse lines alike."""

import datetime as dt
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from nncache.advisor import parse
from nncache.advisor.generator import Spec, lines_of
from tests.advisor.real_lines import REAL
from tests.advisor.twin import AuditLine, read_line

BERLIN = ZoneInfo("Europe/Berlin")
NAMES = tuple(asdict(REAL[0][2]))


def native(spark: SparkSession, folder: Path, lines: Iterable[bytes]) -> list[AuditLine | None]:
    """Return Spark's result for each line, in order."""
    file = folder / "lines.log"
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    found = parse.fields(parse.read_lines(spark, [str(file)]).coalesce(1))
    rows = found.select("is_audit", *NAMES).collect()
    return [AuditLine(**{name: row[name] for name in NAMES}) if row["is_audit"] else None for row in rows]


def test_real_lines_are_read_field_for_field(spark: SparkSession, tmp_path: Path) -> None:
    """The lines are from Hadoop 2.7 to 3.5, with all known prefixes and wrappings."""
    lines = [line.encode() for _, line, _ in REAL]
    expected = {name: fields for name, _, fields in REAL}
    assert {name: read_line(line, BERLIN) for (name, _, _), line in zip(REAL, lines, strict=True)} == expected
    assert dict(zip(expected, native(spark, tmp_path, lines), strict=True)) == expected


SPLICES = (
    b"\t", b"\\", b"\\t", b"\\u00E4", b"\\uD83D", b"=", b"null", b"allowed=", b"allowed=true\tugi=", b"\tsrc=",
    b"\tdst=", b"\tproto=rpc", b"\tcallerContext=", b"\ttrackingId=", b'"', b"{", b"}", b"\r", b"\0", b"\xff",
    b"\xed\xa0\x80", b"\xc3", "ä\u2028\N{GRINNING FACE}".encode(), b"#011", b" ", b",", b"+25:00", b"[a, b]",
    b"2026-02-30 25:00:00,1",
)  # fmt: skip


def fuzzed(seed: int, count: int) -> Iterator[bytes]:
    """Yield damaged lines of all kinds."""
    chance = random.Random(seed)
    whole = [line.encode() for _, line, _ in REAL]
    for _ in range(count):
        line = bytearray(chance.choice(whole))
        for _ in range(chance.choice((0, 1, 1, 2, 3, 8))):
            at, length = chance.randrange(len(line) + 1), chance.choice((0, 0, 1, 1, 2, 9))
            match chance.randrange(4):
                case 0:
                    line[at : at + length] = chance.choice(SPLICES)
                case 1:
                    line[at : at + length] = chance.randbytes(length)
                case 2:
                    other = chance.choice(whole)
                    start = chance.randrange(len(other))
                    line[at : at + length] = other[start : start + chance.randrange(60)]
                case _:
                    del line[at : at + 4 * length]
        yield bytes(line).replace(b"\n", b"")


def differences(spark: SparkSession, folder: Path, lines: list[bytes]) -> list[tuple[bytes, object, object]]:
    """Return the lines that the two parse differently."""
    both = zip(lines, native(spark, folder, lines), strict=True)
    return [(line, found, twin) for line, found in both if found != (twin := read_line(line, BERLIN))]


def test_damaged_lines_are_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    """No line raises, whatever its bytes; `test_a_million_damaged_lines_are_read_alike` runs more of them."""
    assert differences(spark, tmp_path, list(fuzzed(1, 20_000))) == []


def test_the_short_look_and_the_long_one_agree(spark: SparkSession, tmp_path: Path) -> None:
    """They agree on valid and damaged lines, and the fast parser takes the usual lines."""
    file, place = tmp_path / "lines.log", str(tmp_path / "events.parquet")
    file.write_bytes(b"".join(line + b"\n" for line in fuzzed(2, 10_000)))
    lines = parse.read_lines(spark, [str(file)])
    parse.write_events(lines, place)
    shortly = parse.read_events(spark, [place])
    at_length = parse.events(lines).select(shortly.columns)
    assert shortly.exceptAll(at_length).collect() == []
    assert at_length.exceptAll(shortly).collect() == []
    assert parse.usual_events(lines).where("about != 'raw'").count() > 1_000


def test_logs_are_read_plain_and_compressed(spark: SparkSession, tmp_path: Path) -> None:
    """Inputs are files, folders and wildcards."""
    line = next(lines_of(Spec(2_000, globs=5, parts=1), 0)).encode() + b"\n"
    (tmp_path / "logs" / "below").mkdir(parents=True)
    (tmp_path / "logs" / "hdfs-audit.log").write_bytes(line)
    for suffix, codec in (("gz", "gzip"), ("bz2", "bz2"), ("zst", "zstd")):
        with pa.CompressedOutputStream(
            tmp_path / "logs" / "below" / f"hdfs-audit.log.1.{suffix}", codec
        ) as file:
            file.write(line)
    inputs = {
        "a folder": ["logs"],
        "files": ["logs/hdfs-audit.log"],
        "a wildcard": ["logs/below/hdfs-audit.log*"],
    }
    found = {
        name: parse.usual_events(parse.read_lines(spark, [str(tmp_path / each) for each in given]))
        for name, given in inputs.items()
    }
    counts = {name: events.where("form = 'audit'").count() for name, events in found.items()}
    assert counts == {"a folder": 4, "files": 1, "a wildcard": 3}


def test_blank_lines_are_no_events(spark: SparkSession, tmp_path: Path) -> None:
    """The rule holds for a file of blank lines only."""
    (tmp_path / "lines.log").write_text("\n\n\r\n")
    place = str(tmp_path / "events.parquet")
    parse.write_events(parse.read_lines(spark, [str(tmp_path / "lines.log")]), place)
    assert parse.read_events(spark, [place]).collect() == []


def test_hours_of_a_clock_change_are_read_by_both_looks_alike(spark: SparkSession, tmp_path: Path) -> None:
    """A skipped hour, a doubled hour, the last of February, and invalid times."""
    usual = next(lines_of(Spec(2_000, globs=5, parts=1), 0))[19:]
    days, minutes = ("2026-03-29", "2026-10-25"), range(0, 300, 30)
    starts = [f"{day} {minute // 60:02}:{minute % 60:02}:59" for day in days for minute in minutes]
    starts += ["2024-02-29 00:00:00", "2099-07-01 12:00:00", "1999-12-31 23:59:59"]
    wrong = ["2026-02-29 00:00:00", "2026-01-01 24:00:00", "2026-01-01 00:60:00", "2026-00-10 00:00:00"]
    lines = [f"{start}{usual}".encode() for start in (*starts, *wrong)]
    file = tmp_path / "lines.log"
    file.write_bytes(b"\n".join(lines) + b"\n")
    rows = parse.usual_events(parse.read_lines(spark, [str(file)])).where("about != 'raw'").collect()
    expected = [line.at for line in map(partial(read_line, zone=BERLIN), lines) if line is not None]
    assert [row["at"] for row in rows] == [at for at in expected if at is not None]
    assert len(rows) == len(starts)
    assert {row["day"] for row in rows} >= {dt.date(2026, 3, 29), dt.date(2024, 2, 29)}


def test_events_of_an_interrupted_run_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """The usual lines were written, and the others were not."""
    file, place = tmp_path / "lines.log", str(tmp_path / "events.parquet")
    file.write_text(f"{REAL[0][1]}\nnot understood\n", encoding="utf-8")
    lines = parse.read_lines(spark, [str(file)])
    parse.write_events(lines, place)
    assert parse.read_events(spark, [place]).count() == 2
    parse.usual_events(lines).write.mode("overwrite").partitionBy("day", "form", "about").parquet(place)
    with pytest.raises(ValueError, match=r"events.parquet: the run that wrote it was interrupted"):
        parse.read_events(spark, [place])


def test_a_line_may_be_as_long_as_it_likes(spark: SparkSession, tmp_path: Path) -> None:
    """Escaped paths, a megabyte of tabs or of quotes: Java's regular expressions do not overflow the stack on them."""
    usual = REAL[-1][1].rstrip("\r")
    wide = usual.replace("src=/a", "src=/" + "\\u00E4" * 8_000)
    wrapped = json.dumps({"message": wide})
    odd = [usual + "\tcallerContext=" + text * 500_000 for text in ("\t", '"', "\\t", "{")]
    lines = [line.encode() for line in (wide, wrapped, *odd, "\t" * 1_000_000, "allowed=true\tugi=" * 50_000)]
    found = native(spark, tmp_path, lines)
    assert found == [read_line(line, BERLIN) for line in lines]
    assert [line is not None for line in found] == [True] * 6 + [False] * 2
    assert found[0] is not None
    assert found[0].src == "/" + "ä" * 8_000


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_million_damaged_lines_are_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    """There are ten parts, each with its own seed."""
    for seed in range(10):
        assert (seed, differences(spark, tmp_path, list(fuzzed(seed, 100_000)))) == (seed, [])


ACCESS = {
    "log": "access",
    "time": "2026-11-28T01:34:57.054Z",
    "caller": "ann",
    "target": "/webhdfs/v1/a%20b//c+d/?op=GETFILESTATUS&user.name=ann",
    "operation": "GETFILESTATUS",
    "status": 200,
    "result": "hit",
    "weight": 10,
}
COMBINED = (
    '10.0.0.1 - ann [28/Nov/2026:01:34:57 +0000] "GET /webhdfs/v1/a?op=GETFILESTATUS&user.name=ann" 404 12 "-" "-" '
    "stored GETFILESTATUS miss 0.001000 1 -"
)
RANGER = {
    "repo": "hdfs",
    "reqUser": "bob",
    "evtTime": "2026-11-28 02:34:57.054",
    "access": "read",
    "resource": "/data/x",
    "result": 1,
    "event_count": 7,
}


def test_other_logs_become_events(spark: SparkSession, tmp_path: Path) -> None:
    """Access logs in both formats, Ranger audits, blank lines; unknown lines are masked."""
    file = tmp_path / "lines.log"
    file.write_text(
        "\n".join(
            [
                json.dumps(ACCESS, separators=(",", ":")),
                COMBINED,
                json.dumps(RANGER),
                "",
                "Secret of Bob 7\u00e4!",
            ]
        )
        + "\n"
    )
    rows = parse.events(parse.read_lines(spark, [str(file)]).coalesce(1)).collect()
    wanted = ("form", "at", "user", "cmd", "src", "is_web", "weight", "is_hit", "is_failed", "detail")
    at = 1795829697054
    assert [tuple(row[name] for name in wanted) for row in rows] == [
        ("access", at, "ann", "getfileinfo", "/a b/c+d", True, 10, True, False, None),
        ("access", at - 54, "ann", "getfileinfo", "/a", True, 1, False, False, None),
        ("ranger", at, "bob", "read", "/data/x", None, 7, False, False, None),
        ("unknown", None, None, None, None, None, 1, False, False, "xxxxxx xx xxx xx!"),
    ]


def test_an_access_log_names_users_as_an_audit_log(spark: SparkSession, tmp_path: Path) -> None:
    """A caller who acts for another one, such as Hue, is that user."""
    lines = (
        json.dumps(ACCESS | {"caller": "hue", "doas": "eve"}, separators=(",", ":")),
        json.dumps(ACCESS | {"caller": None, "doas": "eve"}, separators=(",", ":")),
        COMBINED.replace(" ann ", " hue,doas=eve "),
        COMBINED.replace(" ann ", " -,doas=eve "),
    )
    (tmp_path / "lines.log").write_text("\n".join(lines))
    rows = parse.events(parse.read_lines(spark, [str(tmp_path)])).collect()
    assert [row["user"] for row in rows] == ["eve"] * len(lines)


@pytest.mark.parametrize(
    ("result", "status", "is_hit", "is_failed"),
    [
        ("hit", 304, True, False),  # the client has the same answer already
        ("collapsed", 200, True, False),  # no call of its own, so no line in an audit log
        ("stored", 200, False, False),
        ("forwarded", 403, False, True),
    ],
)
def test_what_an_access_log_says_of_a_call(
    spark: SparkSession, tmp_path: Path, result: str, status: int, *, is_hit: bool, is_failed: bool
) -> None:
    """In both formats."""
    lines = (
        json.dumps(ACCESS | {"result": result, "status": status}, separators=(",", ":")),
        COMBINED.replace("stored", result).replace(" 404 ", f" {status} "),
    )
    (tmp_path / "lines.log").write_text("\n".join(lines))
    rows = parse.events(parse.read_lines(spark, [str(tmp_path)])).collect()
    assert [(row["is_hit"], row["is_failed"]) for row in rows] == [(is_hit, is_failed)] * 2


def test_paths_are_kept_of_what_matters_alone(spark: SparkSession, tmp_path: Path) -> None:
    """A path is kept in canonical form, and only of relevant commands; a skeleton only of cacheable paths."""
    usual = REAL[0][1].split("\t")

    def line(command: str, source: str, proto: str = "rpc") -> str:
        fields = [*usual]
        fields[3], fields[4], fields[7] = f"cmd={command}", f"src={source}", f"proto={proto}"
        return "\t".join(fields)

    file = tmp_path / "lines.log"
    lines = (
        line("getfileinfo", "//a//b7/"),
        line("open", "/a"),
        line("open", "/a", "webhdfs"),
        line("delete", "/"),
        line("getfileinfo", "/.reserved/.inodes/5"),
        line("getfileinfo", "/a/.snapshot/s"),
        line("getfileinfo", "/a/../b"),
        line("getfileinfo", "/a/.hidden"),
        line("rename (options=[OVERWRITE])", "/a/"),
    )
    file.write_text("\n".join(lines) + "\n")
    rows = parse.events(parse.read_lines(spark, [str(file)]).coalesce(1)).collect()
    assert [(row["cmd"], row["src"], row["skeleton"]) for row in rows] == [
        ("getfileinfo", "/a/b7", "/a/b\x01"),
        ("open", None, None),
        ("open", "/a", "/a"),
        ("delete", "/", None),
        ("getfileinfo", "/.reserved/.inodes/5", None),
        ("getfileinfo", "/a/.snapshot/s", None),
        ("getfileinfo", "/a/../b", None),
        ("getfileinfo", "/a/.hidden", "/a/.hidden"),
        ("rename", "/a", None),
    ]


def test_what_a_router_adds_to_a_context_is_no_application(spark: SparkSession, tmp_path: Path) -> None:
    """Nor is the port that a NameNode adds: otherwise each call would be an application, with the user's name."""
    router = "clientIp:1.2.3.4,clientPort:5,clientId:0a1b,clientCallId:7,realUser:an_n"
    usual = (
        "\t".join(REAL[0][1].split("\t")[:-1]).replace("\\u00E4\\u20AC", "") + "\tproto=rpc\tcallerContext="
    )
    contexts = (
        router,
        f"{router},CLI",
        f"{router},mr_attempt_1",
        "hive_1,clientPort:5",
        "CLI,clientPort:5",
        "_",
    )
    file = tmp_path / "lines.log"
    file.write_text("".join(f"{usual}{context}\n" for context in contexts))
    lines = parse.read_lines(spark, [str(file)]).coalesce(1)
    expected = [None, "CLI", "mr", "hive", "CLI", None]
    assert [row["framework"] for row in parse.usual_events(lines).collect()] == expected
    assert [row["framework"] for row in parse.events(lines).collect()] == expected
