"""Compute advice from logs, step by step. (nncache/advisor/run.py)"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation names it

from nncache.advisor import parse, replaying
from nncache.advisor.candidates import VARIABLE, Candidate, Finder, SkeletonReads
from nncache.advisor.figures import Counts, RecommendedFilter, figures_of
from nncache.advisor.replay import ReplayRules
from nncache.invalidation.filters.settings import FilterSettings

PARQUET: Final = ".parquet"
SAMPLE_PARTS: Final = 10_000
HOUR_MS, MINUTE_MS = 3_600_000, 60_000
SHORT_MS: Final = 3 * HOUR_MS
"""A log with a shorter span is counted by minutes, a longer one by hours."""
MOST_SKELETONS: Final = 200_000
DRILLS: Final = 2
_MOST_NAMES: Final = 20
_UNREADABLE: Final = re.compile(r"\[FAILED_READ_FILE\b.* file (.*?)\.? +SQLSTATE")
"""The message of Spark 4's SparkException."""
SPARSE: Final = 20
"""With fewer reads per path, a skeleton may mix paths that are polled with paths that are read once."""


class AdvisorError(Exception):
    """The logs cannot be processed; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseJob:
    """The logs to process, and how.

    Attributes:
        inputs: files, directories and wildcards; `.parquet` inputs are events of an earlier run.
        events: the location of the written events; executors must be able to access it.
        since, until: in ms since the epoch; None: no limit.
        sample: the share of directories whose reads are replayed.
        warm_up_s: seconds after the first line in which reads fill the cache and are not counted; at most a tenth of
            the log's time.
        most: the maximum number of recommended filters.
        least_share: a filter whose repeats are a smaller share of all reads of a status is not worth its place.
    """

    inputs: tuple[str, ...]
    events: str
    since: int | None = None
    until: int | None = None
    sample: float = 1.0
    warm_up_s: float = 300.0
    most: int = 1_000
    least_share: float = 0.0001
    limits: FilterSettings = field(default_factory=FilterSettings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load of the NameNode, by one property of the calls.

    Attributes:
        rows: name, all calls, reads of a status.
    """

    title: str
    rows: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The result of all steps."""

    lines: int
    unknown: int
    examples: tuple[str, ...]
    first_ms: int
    last_ms: int
    bucket_ms: int
    counted_from: int = 0
    sample: float = 1.0
    statuses_web: int  # reads of a status over WebHDFS, those of an OPEN left out
    statuses_rpc: int
    of_open: int
    asked: dict[int, tuple[int, int]]  # by bucket: all calls, reads of a status
    loads: tuple[Load, ...]
    ranger: tuple[tuple[str, str, int], ...]  # user, access, count
    filters: tuple[RecommendedFilter, ...] = ()
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def unknown_share(self) -> float:
        """The share of lines that could not be parsed."""
        return self.unknown / self.lines if self.lines else 0.0

    @property
    def statuses(self) -> int:
        """Reads of a status that a proxy could answer."""
        return self.statuses_web + self.statuses_rpc

    @property
    def buckets(self) -> range:
        """All buckets of time, including empty ones."""
        return range(self.first_ms // self.bucket_ms, self.last_ms // self.bucket_ms + 1)


def advise(spark: SparkSession, question: AdviseJob, announce: Callable[[str], None]) -> Advice:
    """Process logs; `announce` is called with the name of each step as it begins.

    Raises:
        AdvisorError: the input is unreadable, or has no lines or no reads of a status.
    """

    def begin(name: str) -> None:
        announce(name)
        spark.sparkContext.setJobDescription(f"nncache advise: {name}")

    begin("parse the lines")
    events = _events(spark, question)
    begin("count what the NameNode is asked")
    counted, has_audit = _counted(events)
    if not counted.lines:
        raise AdvisorError(
            f"{', '.join(question.inputs)}: no line is there, or none in the time that is asked for"
        )
    if not counted.statuses:
        raise AdvisorError(
            "there is no getfileinfo among the lines: dfs.namenode.audit.log.debug.cmdlist may name it, so that it is "
            "not written; nntop (JMX) still counts it by user"
        )
    warm_up_ms = min(int(1000 * question.warm_up_s), (counted.last_ms - counted.first_ms) // 10)
    counted = replace(counted, sample=question.sample, counted_from=counted.first_ms + warm_up_ms)
    reads = _reads(events, question, has_audit=has_audit).withColumn("skeleton_0", F.col("skeleton"))
    least = max(1, int(counted.statuses * question.sample * question.least_share))
    begin("find what is asked again and again")
    seen = _seen(reads, "skeleton_0")
    depth = 0
    while depth < DRILLS:
        sparse = [one for one in seen if _is_sparse(one, least)]
        if not sparse:
            break
        begin(f"tell apart what is mixed (skeletons: {len(sparse)})")
        depth += 1
        reads, found = _drilled(reads, depth, sparse, least)
        rest = {one.skeleton: one for one in seen}
        for one in found:
            parent = rest[one.parent]
            rest[one.parent] = SkeletonReads(
                parent.skeleton,
                parent.reads - one.seen.reads,
                max(0, parent.repeats - one.seen.repeats),
                max(0, parent.paths - one.seen.paths),
            )
        seen = [*rest.values(), *(one.seen for one in found)]
    finder = Finder(seen, question.limits, least)
    candidates = dict(enumerate(finder.find(question.most)))
    figures: list[RecommendedFilter] = []
    if candidates:
        begin(f"replay {len(candidates)} filters")
        rules = ReplayRules(bucket_ms=counted.bucket_ms, counted_from=counted.counted_from)
        figures = figures_of(
            candidates, _replayed(reads, events, candidates, depth, rules), 1 / question.sample
        )
    begin("write the report")
    return replace(counted, filters=tuple(figures), refused=finder.refused)


# -- events ------------------------------------------------------------------------------------------


def _events(spark: SparkSession, question: AdviseJob) -> DataFrame:
    ready = [each for each in question.inputs if each.rstrip("/").endswith(PARQUET)]
    if ready and len(ready) < len(question.inputs):
        raise AdvisorError("give either logs or the events of an earlier run, not both")
    try:
        if not ready:
            lines = parse.read_lines(spark, question.inputs)
            parse.write_events(lines, question.events)
        events = parse.read_events(spark, ready or [parse.literal(question.events)])
    except ValueError as error:
        raise AdvisorError(str(error)) from error
    except AnalysisException as error:
        reason = str(error).partition("\n")[0]
        raise AdvisorError(
            f"{', '.join(question.inputs)}: cannot be read ({reason}); "
            "give logs that are there, or the events.parquet of an earlier run"
        ) from error
    except (IllegalArgumentException, Py4JJavaError) as error:
        if (unreadable := _unreadable(error)) is None:
            what = f"{', '.join(question.inputs)}: cannot be read, or {question.events} cannot be written"
            raise AdvisorError(f"{what} ({reasons_of(error)[-1]})") from error
        raise AdvisorError(f"{unreadable}; give logs that can be read to their end") from error
    at = F.col("at")
    if question.since is not None:
        events = events.where(at.isNull() | (at >= question.since))
    if question.until is not None:
        events = events.where(at.isNull() | (at < question.until))
    return events


def reasons_of(error: PySparkException | Py4JJavaError) -> list[str]:
    """Return the messages of an error of Spark and of its causes, each without a stack trace."""
    if not isinstance(error, Py4JJavaError):
        return [str(error).partition("\n")[0]]
    cause, reasons = error.java_exception, list[str]()
    while cause is not None:
        reasons.append((cause.getMessage() or cause.getClass().getSimpleName()).partition("\n")[0])
        cause = cause.getCause()
    return reasons


def _unreadable(error: IllegalArgumentException | Py4JJavaError) -> str | None:
    """Return a message with the file that Spark could not read, and why; None if the error is another one."""
    reasons = reasons_of(error)
    named = [_UNREADABLE.search(reason) for reason in reasons]
    file = next((match[1] for match in named if match), None)
    return None if file is None else f"{file}: cannot be read ({reasons[-1]})"


class _Sums:
    """Calls and reads of a status, by a property of the calls."""

    def __init__(self) -> None:
        self.of: dict[Any, tuple[int, int]] = {}

    def add(self, name: object, calls: int, statuses: int) -> None:
        before = self.of.get(name, (0, 0))
        self.of[name] = before[0] + calls, before[1] + statuses

    def most(self) -> tuple[tuple[str, int, int], ...]:
        rows = [(str(name), *counts) for name, counts in self.of.items()]
        return tuple(sorted(rows, key=lambda row: (-row[1], row[0]))[:_MOST_NAMES])


def _counted(events: DataFrame) -> tuple[Advice, bool]:
    """Count by hour, or by minute for a short log; return advice without filters, and whether there is an audit log.

    Two scans, each of only the few columns that it groups by.
    """
    minute = F.floor(F.col("at") / MINUTE_MS).alias("minute")
    grouped = events.groupBy("form", "cmd", "is_web", "is_hit", minute)
    lines, calls = F.count("*").alias("lines"), F.sum("weight").alias("calls")
    counts = grouped.agg(lines, calls, F.min("at").alias("first"), F.max("at").alias("last")).persist()
    is_status = F.when(F.col("cmd") == "getfileinfo", F.col("weight")).otherwise(0)
    grouped = events.groupBy("form", "is_hit", "user", "framework")
    callers = grouped.agg(calls, F.sum(is_status).alias("of_status")).persist()
    try:
        return _counted_from(counts, callers, events)
    finally:
        counts.unpersist()
        callers.unpersist()


def _counted_from(counts: DataFrame, callers: DataFrame, events: DataFrame) -> tuple[Advice, bool]:
    is_known = F.col("form") != parse.UNKNOWN
    first, last = counts.where(is_known).agg(F.min("first"), F.max("last")).collect()[0]
    span_ms = 0 if first is None else last - first
    bucket_ms = MINUTE_MS if span_ms < SHORT_MS else HOUR_MS
    bucket = F.floor(F.col("minute") * MINUTE_MS / bucket_ms).alias("bucket")
    counted = counts.groupBy("form", "cmd", "is_web", "is_hit", bucket)
    found = counted.agg(F.sum("lines").alias("lines"), F.sum("calls").alias("calls")).collect()
    lines = Counter[str]()
    for row in found:
        lines[row["form"]] += row["lines"]
    has_audit, unknown = parse.AUDIT in lines, lines[parse.UNKNOWN]
    asked, by_command, sums = _Sums(), _Sums(), Counter[str]()
    for row in found:
        if row["form"] == parse.AUDIT or (row["form"] == parse.ACCESS and (row["is_hit"] or not has_audit)):
            cmd, calls = row["cmd"], row["calls"]
            statuses = calls if cmd == "getfileinfo" else 0
            asked.add(row["bucket"], calls, statuses)
            by_command.add(cmd, calls, statuses)
            sums["statuses"] += statuses
            sums["web"] += statuses if row["is_web"] else 0
            sums["opened"] += calls if cmd == "open" and row["is_web"] else 0
    by_application = F.coalesce("framework", F.lit("(no caller context)"))
    each = callers.where(_counts(has_audit=has_audit))
    loads = [Load(title="command", rows=by_command.most())]
    for title, name in (("user", F.col("user")), ("application", by_application)):
        grouped = each.groupBy(name.alias("name")).agg(F.sum("calls"), F.sum("of_status"))
        rows = grouped.orderBy(F.desc("sum(calls)"), "name").limit(_MOST_NAMES).collect()
        loads.append(Load(title=title, rows=tuple((str(row[0]), row[1], row[2]) for row in rows)))
    of_open = min(sums["opened"], sums["web"])
    examples = events.where(F.col("form") == parse.UNKNOWN).select("detail").limit(3)
    checks = (
        events.where(F.col("form") == parse.RANGER).groupBy("user", "cmd").agg(F.sum("weight").alias("calls"))
    )
    checks = checks.orderBy(F.desc("calls"), "user", "cmd").limit(20)
    advice = Advice(
        lines=sum(lines.values()),
        unknown=unknown,
        examples=tuple(row["detail"] for row in examples.collect()) if unknown else (),
        first_ms=first or 0,
        last_ms=last or 0,
        bucket_ms=bucket_ms,
        statuses_web=sums["web"] - of_open,
        statuses_rpc=sums["statuses"] - sums["web"],
        of_open=of_open,
        asked=asked.of,
        loads=tuple(loads),
        ranger=tuple((row["user"], row["cmd"], row["calls"]) for row in checks.collect())
        if parse.RANGER in lines
        else (),
    )
    return advice, has_audit


def _counts(*, has_audit: bool) -> Column:
    """Whether an event counts as a call: with an audit log, only hits of an access log do, since others are in both."""
    return (F.col("form") == parse.AUDIT) | (
        (F.col("form") == parse.ACCESS) & (F.col("is_hit") | F.lit(not has_audit))
    )


# -- candidates --------------------------------------------------------------------------------------


def _reads(events: DataFrame, question: AdviseJob, *, has_audit: bool) -> DataFrame:
    """Return the reads of a status and the OPENs over WebHDFS that may be replayed."""
    is_read = F.col("about") == parse.READS
    reads = events.where(is_read & ~F.col("is_failed") & _counts(has_audit=has_audit))
    reads = reads.select("at", "cmd", "allowed", "src", "user", "is_web", "weight", "skeleton")
    if question.sample < 1:
        directory = F.regexp_replace("src", "/[^/]*$", "")
        reads = reads.where(
            F.pmod(F.xxhash64(directory), F.lit(SAMPLE_PARTS)) < int(question.sample * SAMPLE_PARTS)
        )
    return reads


def _aggregates() -> list[Column]:
    is_read = (F.col("cmd") == "getfileinfo") & F.col("allowed")
    repeated = F.xxhash64("src", "user", "is_web", F.floor(F.col("at") / 300_000))
    return [
        F.sum(
            F.when(is_read, F.col("weight")).when(F.col("cmd") == "open", -F.col("weight")).otherwise(0)
        ).alias("reads"),
        F.approx_count_distinct(F.when(is_read, repeated), 0.03).alias("firsts"),
        F.approx_count_distinct(F.when(is_read, F.xxhash64("src")), 0.03).alias("paths"),
    ]


def _seen(reads: DataFrame, key: str) -> list[SkeletonReads]:
    found = reads.groupBy(key).agg(*_aggregates()).where("reads > 0")
    found = found.orderBy(F.desc(F.col("reads") - F.col("firsts"))).limit(MOST_SKELETONS)
    return [
        SkeletonReads(row[key], row["reads"], max(0, row["reads"] - row["firsts"]), row["paths"])
        for row in found.collect()
    ]


@dataclass(frozen=True, slots=True)
class _Found:
    parent: str
    seen: SkeletonReads


def _is_sparse(one: SkeletonReads, least: int) -> bool:
    return VARIABLE in one.skeleton and one.repeats >= least and one.reads < SPARSE * one.paths


def _drilled(
    reads: DataFrame, depth: int, sparse: Iterable[SkeletonReads], least: int
) -> tuple[DataFrame, list[_Found]]:
    """Split sparse skeletons by the literal values of their first variable name."""
    spark = reads.sparkSession
    before, after = f"skeleton_{depth - 1}", f"skeleton_{depth}"
    chosen = spark.createDataFrame(
        [(one.skeleton, True) for one in sparse], f"{before} string, is_sparse boolean"
    )
    names, own = F.split(before, "/"), F.split("src", "/")
    place = F.size(F.split(F.substring_index(before, VARIABLE, 1), "/"))
    literal = F.concat_ws(
        "/", F.slice(names, 1, place - 1), F.element_at(own, place), F.slice(names, place + 1, F.size(names))
    )
    reads = reads.join(F.broadcast(chosen), before, "left")
    reads = reads.withColumn(after, F.when(F.col("is_sparse"), literal).otherwise(F.col(before))).drop(
        "is_sparse"
    )
    drilled = reads.where(F.col(after) != F.col(before)).groupBy(before, after).agg(*_aggregates())
    drilled = (
        drilled.where(f"reads - firsts >= {max(1, least // 10)}")
        .orderBy(F.desc("reads"))
        .limit(MOST_SKELETONS)
    )
    found = [
        _Found(
            row[before],
            SkeletonReads(row[after], row["reads"], max(0, row["reads"] - row["firsts"]), row["paths"]),
        )
        for row in drilled.collect()
    ]
    return reads, found


# -- replay ------------------------------------------------------------------------------------------


def _replayed(
    reads: DataFrame, events: DataFrame, candidates: dict[int, Candidate], depth: int, rules: ReplayRules
) -> list[Counts]:
    spark = reads.sparkSession
    globs = [(seen.skeleton, number) for number, each in candidates.items() for seen in each.skeletons]
    for level in range(depth, -1, -1):
        table = spark.createDataFrame(globs, f"skeleton_{level} string, glob_{level} int")
        reads = reads.join(F.broadcast(table), f"skeleton_{level}", "left")
    glob = reduce(
        lambda found, level: F.coalesce(found, F.col(f"glob_{level}")),
        range(depth - 1, -1, -1),
        F.col(f"glob_{depth}"),
    )
    reads = reads.withColumn("glob", glob).where(F.col("glob").isNotNull())
    most = sum(each.reads for each in candidates.values())
    partitions = replaying.tasks_for(most, int(spark.conf.get("spark.sql.shuffle.partitions") or 200))
    rows = replaying.rows(reads, events)
    return [tuple(row) for row in replaying.replayed(rows, rules, partitions).collect()]
