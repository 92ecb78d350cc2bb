"""From generated lines to advice, compared with the planted globs and with the proxy's own cache."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as in Spark's documentation

from nncache.advisor import parse, replaying
from nncache.advisor.command import AdviseOptions, against_truth, carry_out, for_spark
from nncache.advisor.generating import generated_lines, generated_truth
from nncache.advisor.generator import Spec, lines_of
from nncache.advisor.run import Advice, AdviseJob, AdvisorError, advise
from nncache.invalidation.filters.settings import FilterSettings
from tests.advisor.twin import Counts, happened, replayed_by_cache


def advice_about(spark: SparkSession, folder: Path, *inputs: str, **more: float) -> Advice:
    """Return the advice about logs, without a warm-up."""
    events = str(folder / "events.parquet")
    question = AdviseJob(inputs=inputs, events=events, warm_up_s=0.0, **more)  # type: ignore[arg-type]  # numbers all
    return advise(spark, question, lambda _: None)


def written(spark: SparkSession, folder: Path, spec: Spec) -> str:
    """Generate a log; return its path."""
    log = str(folder / "log")
    generated_lines(spark, spec).write.text(log, compression="gzip")
    return log


def see_what_was_planted(spark: SparkSession, folder: Path, spec: Spec) -> Advice:
    """Check that the planted globs are found, that no other is, and that the forecast is right."""
    advice = advice_about(spark, folder, written(spark, folder, spec))
    compared = against_truth(advice, generated_truth(spark, spec))
    assert compared.planted == spec.globs
    assert compared.found >= 0.95 * spec.globs
    assert compared.strange == 0
    assert compared.more_paths <= 0.05
    assert compared.forecast.low - 0.02 <= compared.known <= compared.forecast.high + 0.02
    assert compared.forecast.high - compared.known <= 0.02
    assert advice.unknown == 0
    assert all(each.saved.low > 0 for each in advice.filters)
    return advice


def test_planted_globs_are_found_and_their_savings_forecast(spark: SparkSession, tmp_path: Path) -> None:
    """Each is found exactly, or merged into a glob with at most 5 % more paths."""
    advice = see_what_was_planted(spark, tmp_path, Spec(150_000, globs=50, parts=3))
    assert advice.statuses == advice.statuses_web + advice.statuses_rpc > 60_000
    assert [load.title for load in advice.loads] == ["command", "user", "application"]
    again = advice_about(spark, tmp_path / "again", str(tmp_path / "events.parquet"))
    assert again == advice


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_of_200_planted_globs_in_ten_million_lines(spark: SparkSession, tmp_path: Path) -> None:
    """At least 95 % are found, and the forecast is within two points."""
    see_what_was_planted(spark, tmp_path, Spec(10_000_000, parts=8))


def see_both_replays_agree(spark: SparkSession, folder: Path, spec: Spec) -> None:
    """Check that Spark and the proxy's own cache agree on every hit and call, at both ends of the forecast."""
    advice = advice_about(spark, folder, written(spark, folder, spec))
    lines = (line for part in range(spec.parts) for line in lines_of(spec, part))
    # Most lines cannot matter to a proxy; the plain Python twin skips them.
    found = happened(
        line
        for line in lines
        if "\tcmd=listStatus\t" not in line and ("\tcmd=open\t" not in line or "\tproto=webhdfs" in line)
    )
    globs = tuple(each.glob for each in advice.filters)
    for is_web in (True, False):
        sides = [each.web if is_web else each.rpc for each in advice.filters]
        reads = sum(side.reads for side in sides)
        low = Counts(
            reads,
            sum(int(side.hits.low) for side in sides),
            reads - sum(int(side.saved.low) for side in sides),
        )
        high = Counts(
            reads,
            sum(int(side.hits.high) for side in sides),
            reads - sum(int(side.saved.high) for side in sides),
        )
        assert (spec.seed, low) == (spec.seed, replayed_by_cache(found, globs, is_web=is_web, is_low=True))
        assert (spec.seed, high) == (spec.seed, replayed_by_cache(found, globs, is_web=is_web, is_low=False))


@pytest.mark.parametrize("seed", [2, 3])
def test_spark_answers_as_the_proxys_own_cache(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Every hit agrees, also if one user has all files."""
    see_both_replays_agree(spark, tmp_path, Spec(40_000, globs=20, parts=2, seed=seed, hot=seed == 3))


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(10))
def test_spark_answers_as_the_cache_on_a_million_lines(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """The rule holds for ten seeds."""
    see_both_replays_agree(spark, tmp_path, Spec(1_000_000, seed=seed))


def test_one_user_with_everything_is_spread(spark: SparkSession, tmp_path: Path) -> None:
    """Rows are partitioned by directory: no task has ten times the rows of the median task."""
    log = written(spark, tmp_path, Spec(60_000, globs=100, parts=1, hot=True))
    events = parse.events(parse.read_lines(spark, [log]))
    reads = events.where(F.col("src").startswith("/user/hot/") & F.col("skeleton").isNotNull()).withColumn(
        "glob", F.lit(0)
    )
    rows = replaying.rows(reads, events).repartition(16, "directory").groupBy(F.spark_partition_id()).count()
    counts = sorted(row["count"] for row in rows.collect())
    assert len(counts) == 16
    assert sum(counts) > 20_000
    assert counts[-1] < 10 * median(counts)


def test_a_sample_of_the_directories_estimates_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Here half of the directories estimate the savings to within a half."""
    spec = Spec(60_000, globs=40, parts=1)
    log = written(spark, tmp_path, spec)
    whole, half = (advice_about(spark, tmp_path / str(share), log, sample=share) for share in (1.0, 0.5))
    low, high = (sum(each.saved.low for each in advice.filters) for advice in (half, whole))
    assert 0.5 * high < low < 1.5 * high
    assert whole.statuses == half.statuses


def test_without_reads_of_a_status_it_says_why(spark: SparkSession, tmp_path: Path) -> None:
    """The audit log's debug command list may omit getfileinfo, or the log may be empty."""
    lines = [line for line in lines_of(Spec(2_000, globs=5, parts=1), 0) if "getfileinfo" not in line]
    log = tmp_path / "log"
    log.write_text("\n".join(lines) + "\n")
    with pytest.raises(AdvisorError, match=r"dfs\.namenode\.audit\.log\.debug\.cmdlist"):
        advice_about(spark, tmp_path, str(log))
    with pytest.raises(AdvisorError, match="no line is there"):
        advice_about(spark, tmp_path, str(log), since=4e12)
    with pytest.raises(AdvisorError, match="not both"):
        advice_about(spark, tmp_path, str(log), str(tmp_path / "events.parquet"))


def test_hits_of_an_access_log_count_beside_an_audit_log(spark: SparkSession, tmp_path: Path) -> None:
    """NameNode calls are in both logs, so only hits are taken from it; without an audit log, all requests are."""
    usual = next(line for line in lines_of(Spec(2_000, globs=5, parts=1), 0) if "getfileinfo" in line)
    target = "/webhdfs/v1/data/x/_SUCCESS?op=GETFILESTATUS&user.name=ann"
    log, access = tmp_path / "log", tmp_path / "access"
    log.write_text(f"{usual}\n")
    access.write_text(
        "".join(
            f'10.0.0.1 - ann [01/Nov/2026:00:00:0{second} +0000] "GET {target}" 200 12 "-" "-" '
            f"{result} GETFILESTATUS - 0.001000 {weight} -\n"
            for second, result, weight in ((1, "stored", 1), (2, "hit", 100), (3, "hit", 100))
        )
    )
    both = advice_about(spark, tmp_path / "both", str(log), str(access))
    alone = advice_about(spark, tmp_path / "alone", str(access))
    assert (both.statuses, alone.statuses) == (201, 201)
    assert both.statuses_web >= 200
    (found,) = alone.filters
    assert (found.glob, found.web.reads, found.web.hits.high) == ("/data/x/_SUCCESS", 201, 200)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """The message is one line, and every other command works."""
    code = (
        "import sys; sys.modules['pyspark'] = None; sys.argv = ['nncache', 'advise', 'x']; "
        "from nncache.commands.cli import main; main()"
    )
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (
        1,
        "nncache: nncache advise needs pyspark: pip install '.[advisor]' in the checkout\n",
    )


@pytest.mark.parametrize(
    ("path", "zone", "says"),
    [
        ("", "UTC", "Spark, which needs Java 17, does not start: [JAVA_GATEWAY_EXITED] Java gateway process"),
        (os.environ["PATH"], "posix/Europe/Berlin", "The value 'posix/Europe/Berlin' in the config"),
    ],
)
def test_where_spark_does_not_start_it_says_why(tmp_path: Path, path: str, zone: str, says: str) -> None:
    """There is no Java, or Java does not have the time zone that Python has."""
    (tmp_path / "log").write_text("")
    arguments = ("advise", "log", "--time-zone", zone, "--master", "local[1]")
    done = subprocess.run(
        (sys.executable, "-m", "nncache.commands.cli", *arguments),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": path, "PYTHONPATH": str(Path.cwd())},
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert says in done.stderr.splitlines()[-1]


def test_a_short_log_is_counted_all_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """A first look at a million lines of a busy NameNode is shorter than what a cache needs to warm up."""
    line = (
        "2026-11-01 00:{:02}:{:02},000 INFO FSNamesystem.audit: allowed=true\tugi=ann (auth:SIMPLE)\tip=/10.0.0.1\t"
        "cmd=getfileinfo\tsrc=/data/x/_SUCCESS\tdst=null\tperm=null\tproto=webhdfs\n"
    )
    (tmp_path / "log").write_text("".join(line.format(*divmod(second, 60)) for second in range(101)))
    question = AdviseJob(inputs=(str(tmp_path / "log"),), events=str(tmp_path / "events.parquet"))
    (found,) = advise(spark, question, lambda _: None).filters
    assert (found.glob, found.web.reads, found.web.hits.high) == ("/data/x/_SUCCESS", 91, 91)


def test_empty_logs_are_no_error_of_sparks(spark: SparkSession, tmp_path: Path) -> None:
    """Without a line no file says what columns there are."""
    (tmp_path / "log").write_text("")
    with pytest.raises(AdvisorError, match="no line is there"):
        advice_about(spark, tmp_path, str(tmp_path / "log"))


def test_what_spark_cannot_reach_is_an_error_of_one_line(spark: SparkSession, tmp_path: Path) -> None:
    """A file system that it does not have, or one that it does not reach, for the logs or for the events."""
    (tmp_path / "log").write_text("\n")
    log, events = str(tmp_path / "log"), str(tmp_path / "events.parquet")
    for inputs, place, reason in (
        ("foo://host/log", events, 'No FileSystem for scheme "foo"'),
        ("hdfs://127.0.0.1:1/log", events, "Connection refused"),
        ("log:1", events, "Relative path in absolute URI: log:1"),
        (log, "foo://host/events.parquet", 'No FileSystem for scheme "foo"'),
        (log, f"{log}/events.parquet", "Not a directory|not a directory|Mkdirs failed"),
    ):
        with pytest.raises(AdvisorError) as caught:
            advise(spark, AdviseJob(inputs=(inputs,), events=place), lambda _: None)
        where = f"{inputs}: cannot be read, or {place} cannot be written"
        assert re.fullmatch(rf"{re.escape(where)} \(.*({reason}).*\)", str(caught.value))


def test_a_place_of_events_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads patterns, and the beginning of a relative path as a scheme if there is a colon."""
    log = tmp_path / "log"
    log.write_text("".join(f"{line}\n" for line in lines_of(Spec(2_000, globs=5, parts=1), 0)))
    assert advice_about(spark, tmp_path / "a[1] {b}*?\\", str(log)).lines > 0
    assert for_spark(Path("at 10:30") / "events") == "./at 10:30/events"
    assert for_spark(Path("/at 10:30")) == "/at 10:30"


def test_a_log_that_breaks_off_is_reported_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """An example is a compressed log that is still being written; Spark's stack trace names no remedy."""
    whole = gzip.compress(b"".join(b"%d\n" % number for number in range(20_000)))
    (tmp_path / "half.log.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "none.log.gz").write_bytes(b"\x00\x01\x02\x03" * 64)
    for name, reason in (("half", "Unexpected end of input stream"), ("none", "not a gzip file")):
        with pytest.raises(AdvisorError, match=rf"{name}\.log\.gz: cannot be read \({reason}\); give logs"):
            advice_about(spark, tmp_path, str(tmp_path / f"{name}.log.gz"))


def order_of(*inputs: str, out: Path) -> AdviseOptions:
    """Return an order that ends where Spark would be started."""
    return AdviseOptions(
        inputs=inputs,
        out=out,
        master="no master",
        events=None,
        zone=ZoneInfo("UTC"),
        since=None,
        until=None,
        sample=1.0,
        warm_up_s=0.0,
        most=1,
        limits=FilterSettings(),
        key=None,
        generate=None,
    )


@pytest.mark.parametrize("log", [".", "advice"])
def test_the_report_of_an_earlier_run_is_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    """`nncache advise .` and `nncache advise *` where the logs are would read it the second time."""
    monkeypatch.chdir(tmp_path)
    Path("advice").mkdir()
    Path("advice", "report.md").write_text("")
    with pytest.raises(AdvisorError, match="contains the report of an earlier run, advice: remove that"):
        carry_out(order_of("hdfs-audit.log", log, out=Path("advice")), lambda _: None)


def test_an_unwritable_report_is_an_error_before_the_work(tmp_path: Path) -> None:
    """It comes before hours of work, and before Spark is started."""
    (tmp_path / "file").write_text("")
    order = order_of("log", out=tmp_path / "file" / "advice")
    with pytest.raises(
        AdvisorError, match=r"--out .*/file/advice: nothing can be written there \(Not a directory\)"
    ):
        carry_out(order, lambda _: None)


def test_an_input_that_is_not_there_is_reported_by_name(spark: SparkSession, tmp_path: Path) -> None:
    """A missing file, a wildcard without a match, missing events; Spark's message comes without its stack trace."""
    for name in ("typo.log", "typo*", "typo.parquet"):
        with pytest.raises(
            AdvisorError, match=rf"{re.escape(name)}: cannot be read \(.*; give logs that are there"
        ):
            advice_about(spark, tmp_path, str(tmp_path / name))
