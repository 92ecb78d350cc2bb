r"""Parse log lines into events, with Spark's native columns. (nncache/advisor/parse.py)

Only the pass over usual lines (`usual.py`) runs Python on the executors. Formats: the NameNode's audit log of Hadoop
2.7 to 3.5, with any text before `allowed=`, also within a shipper's JSON; nncache's access log; the JSON of Ranger's
HDFS plug-in. Source: `FSNamesystem.FSDefaultAuditLogger`, `StringEscapeUtils.escapeJava`. Hadoop 2.7 does not escape:
if a path contains a tab, the fields are found by their names.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation names it

from nncache.advisor import usual
from nncache.advisor.footprints import EVENTS

# Pickled by value, so that executors need no installation of nncache.
cloudpickle.register_pickle_by_value(usual)  # type: ignore[no-untyped-call]  # it has no annotations

AUDIT, ACCESS, RANGER, UNKNOWN, BLANK = "audit", "access", "ranger", "unknown", "blank"

READS, CHANGES, REST, RAW = "reads", "changes", "rest", "raw"
"""The classes of events, each in files of its own: reads that may be replayed, changes of a path, and all others. RAW
lines need the second pass; their form is RAW too.
"""

LINE: Final = (
    r"(?s)^(.*?)allowed=(true|false)\tugi=([^\t]*)\tip=([^\t]*)\tcmd=([^\t]*)\tsrc=(.*?)\tdst=(.*?)"
    r"\tperm=([^\t]*)(?:\ttrackingId=([^\t]*))?\tproto=([^\t]*)(?:\tcallerContext=(.*))?"
)
"""A line whose fields are not at their usual positions."""

FIELDS: Final = ("ugi", "ip", "cmd", "src", "dst", "perm", "trackingId", "proto", "callerContext")
_PLACES: Final = {
    "ugi": "1",
    "ip": "2",
    "cmd": "3",
    "src": "4",
    "dst": "5",
    "perm": "6",
    "proto": "p",
    "callerContext": "p + 1",
}
_IS_USUAL: Final = " and ".join(
    (
        "(endswith(get(f, 0), 'allowed=true') or endswith(get(f, 0), 'allowed=false'))",
        *(
            f"startswith(get(f, {place}), '{name}=')"
            for name, place in _PLACES.items()
            if name != "callerContext"
        ),
        "(size(f) = p + 1 or (size(f) = p + 2 and startswith(get(f, p + 1), 'callerContext=')))",
    )
)

_ALLOWED: Final = "endswith(get(f, 0), 'true')"

STAMP: Final = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}/[0-9]{2}/[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,]([0-9]{1,3})[0-9]*)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)

_CODE: Final = (
    r"\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""A character by its code, or by a pair of surrogates; a lone surrogate is not a character."""

ESCAPED: Final = rf'^(?:[^"\\\x00-\x1f]++|\\["\\bfnrt]|{_CODE})*+\z'  # in Java, `$` fits before a last "\r"
"""The output of `escapeJava`, which JSON can decode. Any other text is from Hadoop 2.7 and is literal."""

_JSON_TEXT: Final = (
    rf'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|{_CODE})*+'  # possessive: Java needs no stack for it
)
JSON_MESSAGE: Final = rf'"(?:message|log|msg)"\s*:\s*"(?=[^"]*allowed=)({_JSON_TEXT})"'
JSON_TIME: Final = r'"(?:@timestamp|timestamp|time)"\s*:\s*"([^"\\]*)"'
"""The only keys of a shipper's JSON that are read, so that a truncated line can still be parsed."""

VARIABLE: Final = "\x01"
"""The placeholder in a skeleton."""
VARIES: Final = r"(?=[0-9a-fA-F])(?:[0-9a-fA-F]{8}-[0-9a-fA-F-]{13,}|[0-9a-f]{12,}|[0-9]+)"

_COMBINED: Final = (
    r'^\S+ - (?:\S+,doas=)?(\S+) \[([^\]]+)\] "\S+ (\S+)" ([0-9]+|-) \S+ "-" "-" '
    r"(\S+) (\S+) \S+ [0-9.]+ ([0-9]+) \S+$"
)


def read_lines(spark: SparkSession, inputs: Sequence[str]) -> DataFrame:
    """Return the lines of files, directories and wildcards, compressed or not, as the column `value`."""
    reader = spark.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
    return reader.text(list(inputs)).select("value")


def write_events(lines: DataFrame, place: str) -> None:
    """Write the events of lines as Parquet, by day.

    Nearly all lines are usual audit lines, and the first pass handles these alone. It writes the other lines unchanged,
    and a second pass parses them. A blank line, which is no event, is added to their output: if it is missing, the
    second pass did not finish.
    """
    spark, events = lines.sparkSession, usual_events(lines)
    events.write.mode("overwrite").partitionBy("day", "form", "about").parquet(place)
    # Of empty logs there is no file with the columns.
    written = spark.read.schema(events.schema).parquet(literal(place))
    others = written.where(F.col("form") == RAW).selectExpr("detail as value")
    others = others.union(spark.range(1).selectExpr("'' as value"))
    _events_and_blanks(others).write.mode("append").partitionBy("day", "form", "about").parquet(place)


def literal(place: str) -> str:
    """Return the pattern of a place: Spark reads what a pattern matches, and writes to the place as it is."""
    return re.sub(r"[\\{}\[\]*?]", r"\\\g<0>", place)


def read_events(spark: SparkSession, places: Sequence[str]) -> DataFrame:
    """Return the events that `write_events` wrote. Raises ValueError: it was interrupted; names the place."""
    found = [spark.read.parquet(place) for place in places]  # each by itself: they are partitioned in folders
    for place, events in zip(places, found, strict=True):
        if events.where(F.col("form") == BLANK).isEmpty():
            raise ValueError(f"{place}: the run that wrote it was interrupted; give the logs again")
    written = reduce(DataFrame.unionByName, found).where(~F.col("form").isin(RAW, BLANK))
    same = {"weight": F.lit(1), "is_hit": F.lit(1) == 0, "is_failed": F.lit(1) == 0}
    return written.withColumns({name: F.coalesce(name, value) for name, value in same.items()})


def usual_events(lines: DataFrame) -> DataFrame:
    """Return the events of usual audit lines. Any other line has the class `RAW`, with the line in `detail`."""
    events_of, rules = usual.events_of, usual_rules(lines.sparkSession)

    def events(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return events_of(batches, rules)

    found = lines.selectExpr("cast(value as binary) as line").mapInArrow(events, usual.SCHEMA)
    form = F.when(F.col("about") == RAW, RAW).otherwise(AUDIT)
    # Values that are the same in all of these events are not written.
    return found.withColumns(
        {"form": form, **{name: F.lit(None).cast(kind) for name, kind in _SAME.items()}}
    ).select(*_EVENT)


_SAME: Final = {"weight": "int", "is_hit": "boolean", "is_failed": "boolean"}
_EVENT: Final = (
    "at", "allowed", "user", "cmd", "src", "dst", "is_web", "framework", "weight", "is_hit", "is_failed", "detail",
    "skeleton", "day", "form", "about",
)  # fmt: skip


_MINUTES: Final = 24 * 60
_DAYS: Final = 130 * 365
"""The period for which changes of the time zone's offset are looked up, from 1970 on."""


def usual_rules(spark: SparkSession) -> usual.Rules:
    """Return the rules that executors need for usual lines, in the session's time zone."""
    zone = ZoneInfo(str(spark.conf.get("spark.sql.session.timeZone")))

    def offset(minute: int) -> int:
        found = dt.datetime.fromtimestamp(60 * minute, zone).utcoffset()
        assert found is not None
        return round(found.total_seconds() * 1000)

    breaks, offsets = list[int](), [offset(0)]
    for day in range(_DAYS):
        before, after = day * _MINUTES, (day + 1) * _MINUTES
        if offset(after) == offsets[-1]:
            continue
        while after - before > 1:
            middle = (before + after) // 2
            before, after = (middle, after) if offset(middle) == offsets[-1] else (before, middle)
        offsets.append(offset(after))
        # As in Java: a repeated hour means its first occurrence, and a skipped hour has the previous offset.
        breaks.append(60_000 * after + max(offsets[-2:]))
    return usual.Rules(frozenset(EVENTS), READS, CHANGES, REST, RAW, tuple(breaks), tuple(offsets))


def fields(lines: DataFrame) -> DataFrame:
    """Return the fields of the audit line in each line, unescaped and "null" as null; `is_audit` is false without one.

    `at` is in ms since the epoch; a time without a zone is in the session's time zone.
    """
    valid = lines.selectExpr("make_valid_utf8(value) as line")
    found = _without_cr(valid).withColumn("is_json", F.col("line").startswith("{"))
    within = F.rtrim(_unescaped(F.regexp_extract("line", JSON_MESSAGE, 1)), F.lit("\r\n"))
    message = F.when(F.col("is_json"), within).otherwise(F.col("line"))
    found = found.withColumn("message", message)
    as_rsyslog = r"contains(message, '#011ugi=') and not contains(message, '\tugi=')"
    tabs = rf"if({as_rsyslog}, replace(message, '#011', '\t'), message)"
    found = _with_places(found.withColumn("message", F.expr(tabs)), "message")
    is_odd = F.expr("not is_usual and size(f) >= 8") & F.col("message").rlike(LINE)
    odd = F.array(*(F.regexp_extract("message", LINE, number) for number in range(1, 12)))
    found = found.withColumn("odd", F.when(is_odd, odd))
    picked = {name: F.get("odd", F.lit(number)) for number, name in enumerate(FIELDS, start=2)}
    picked |= {name: F.nullif(picked[name], F.lit("")) for name in ("trackingId", "callerContext")}
    found = found.select(
        "line",
        "is_json",
        F.expr("is_usual or odd is not null").alias("is_audit"),
        F.when(F.col("is_usual"), F.expr(_ALLOWED))
        .otherwise(F.expr("get(odd, 1) = 'true'"))
        .alias("allowed"),
        F.expr("if(is_usual, get(f, 0), get(odd, 0))").alias("head"),
        *(F.when(F.col("is_usual"), _placed(name)).otherwise(picked[name]).alias(name) for name in FIELDS),
    )
    head = F.col("head")
    outer = F.when(F.col("is_json"), F.regexp_extract("line", JSON_TIME, 1))
    at = _moment(F.when(head.rlike(STAMP), head).otherwise(outer))
    return found.select(
        "line",
        "is_json",
        "is_audit",
        F.unix_millis(at).alias("at"),
        "allowed",
        *(_value_of(name).alias(name) for name in FIELDS),
    )


def _without_cr(lines: DataFrame) -> DataFrame:
    """Return the column `line` without the CR of a Windows line end."""
    # Spark's rtrim of named characters walks the whole line: 2 µs.
    return lines.selectExpr(r"if(endswith(line, '\r'), rtrim('\r\n', line), line) as line")


def _with_places(lines: DataFrame, message: str) -> DataFrame:
    """Add the fields of a message as `f`, the index of proto as `p`, and whether all are at their usual positions."""
    found = lines.withColumn("f", F.split(message, "\t"))
    found = found.withColumn("p", F.expr("if(startswith(get(f, 7), 'trackingId='), 8, 7)"))
    return found.withColumn("is_usual", F.expr(f"coalesce({_IS_USUAL}, false)"))


def _placed(name: str) -> Column:
    """Return a field of a usual line."""
    if name == "trackingId":
        return F.nullif(F.expr("if(p = 8, substr(get(f, 7), 12), null)"), F.lit(""))
    field = f"cast(substr(cast(get(f, {_PLACES[name]}) as binary), {len(name) + 2}) as string)"
    return F.expr(
        f"if(get(f, p + 1) = 'callerContext=', null, {field})" if name == "callerContext" else field
    )


def _in_json(name: str) -> Column:
    return F.get_json_object("line", f"$['{name}']")


def _unescaped(text: Column) -> Column:
    """Decode the text between the quotes of a JSON string."""
    return F.get_json_object(F.concat(F.lit('{"v":"'), text, F.lit('"}')), "$.v")


def _value_of(name: str) -> Column:
    field = F.col(name)
    if name in {"src", "dst", "callerContext"}:
        is_escaped = F.contains(field, F.lit("\\")) & field.rlike(ESCAPED)
        return F.when(field != "null", F.when(is_escaped, _unescaped(field)).otherwise(field))
    return F.nullif(field, F.lit("null")) if name in {"ip", "perm"} else field


def _moment(text: Column) -> Column:
    """Return the first timestamp in a text; null if it has none."""
    day, time, fraction, zone = (F.regexp_extract(text, STAMP, number) for number in range(1, 5))
    short = F.concat(F.lit("20"), F.translate(day, "/", "-"))
    day = F.when(F.substring(day, 3, 1) == "/", short).otherwise(day)
    zone = F.regexp_replace(zone, "^([+-][0-9]{2})([0-9]{2})$", "$1:$2")
    return F.concat(day, F.lit(" "), time, F.lit("."), F.rpad(fraction, 3, "0"), zone).try_cast("timestamp")


def events(lines: DataFrame) -> DataFrame:
    """Return one event per line, with the columns that the other stages need; none for a blank line.

    Only `READS`, `CHANGES` and Ranger's events keep their paths; all other events are only counted.
    `form` is one of `AUDIT`, `ACCESS`, `RANGER` and `UNKNOWN`; for `UNKNOWN`, `detail` is the masked line.
    """
    return _events_and_blanks(lines).where(F.col("form") != BLANK)


def _events_and_blanks(lines: DataFrame) -> DataFrame:
    found = fields(lines)
    found = found.withColumn("target", _access_target())
    form = (
        F.when(F.col("is_audit") & F.col("at").isNotNull(), AUDIT)
        .when(F.col("target").isNotNull(), ACCESS)
        .when(F.col("is_json") & _in_json("reqUser").isNotNull() & _in_json("resource").isNotNull(), RANGER)
        .when(F.trim("line") == "", BLANK)
        .otherwise(UNKNOWN)
    )
    found = found.withColumn("form", form)
    access = {name: _of_access(number, key) for name, (number, key) in _ACCESS_FIELDS.items()}
    target_path = F.regexp_extract("target", r"^/webhdfs/v1([^?]*)", 1)
    target_path = F.try_url_decode(F.replace(target_path, F.lit("+"), F.lit("%2B")))
    is_status = F.upper(access["operation"]) == "GETFILESTATUS"
    of_access = {
        "at": F.unix_millis(_access_time()),
        "allowed": F.lit(1) == 1,
        "user": F.coalesce(_in_json("doas"), access["caller"]),  # as in an audit log
        "cmd": F.when(is_status, F.lit("getfileinfo")).otherwise(F.lower(access["operation"])),
        "src": F.when(is_status, target_path),
        "weight": F.greatest(F.lit(1), access["weight"].try_cast("int")),
        "is_hit": access["result"].isin("hit", "collapsed"),  # no call of its own, so no line in an audit log
        "is_failed": ~access["status"].isin("200", "304", "404"),
    }
    of_ranger = {
        "at": F.unix_millis(_moment(_in_json("evtTime"))),
        "allowed": _in_json("result") == "1",
        "user": _in_json("reqUser"),
        "cmd": F.coalesce(_in_json("access"), F.lit("access")),
        "src": _in_json("resource"),
        "weight": F.coalesce(_in_json("event_count").try_cast("int"), F.lit(1)),
    }
    others = {"at": F.col("at"), "allowed": F.col("allowed"), **_audit()}
    is_access, is_ranger = F.col("form") == ACCESS, F.col("form") == RANGER
    masked = F.substring(F.regexp_replace("line", r"[\p{L}\p{N}]", "x"), 1, 200)

    def by_form(name: str) -> Column:
        other = others[name]
        return (
            F.when(is_access, of_access.get(name, other))
            .when(is_ranger, of_ranger.get(name, other))
            .otherwise(other)
            .alias(name)
        )

    found = found.select(
        "form",
        *(by_form(name) for name in others if name != "is_web"),
        (is_access | others["is_web"]).alias("is_web"),
        F.when(F.col("form") == UNKNOWN, masked).alias("detail"),
    )
    reads = _reads(F.col("cmd"), F.col("is_web"))
    changes = F.col("cmd").isin(*EVENTS) & (F.col("form") == AUDIT)
    about = F.when(reads, READS).when(changes, CHANGES).otherwise(REST)
    has_path = F.col("about").isin(READS, CHANGES) | is_ranger
    found = found.withColumn("about", about)
    return _finished(found.withColumns({name: F.when(has_path, _canonical(name)) for name in ("src", "dst")}))


def _audit() -> dict[str, Column]:
    """Return the columns of an audit line."""
    own = F.ltrim(F.regexp_replace("callerContext", usual.ROUTED, ""), F.lit(","))
    return {
        "user": F.substring_index("ugi", " ", 1),
        "cmd": F.substring_index("cmd", " ", 1),
        "src": F.col("src"),
        "dst": F.col("dst"),
        "is_web": F.col("proto") == "webhdfs",
        "framework": F.nullif(F.substring_index(own, "_", 1), F.lit("")),
        "weight": F.lit(1),
        "is_hit": F.lit(1) == 0,
        "is_failed": F.lit(1) == 0,
    }


def _finished(found: DataFrame) -> DataFrame:
    """Add `day` and `skeleton`; a read that no proxy can cache gets the class `REST`."""
    skeleton = F.when(
        (F.col("about") == READS) & F.expr(_IS_CACHEABLE), F.regexp_replace("src", VARIES, VARIABLE)
    )
    found = found.withColumns({"day": F.to_date(F.timestamp_millis("at")), "skeleton": skeleton})
    is_kept = (F.col("about") != READS) | F.col("skeleton").isNotNull()
    return found.withColumn("about", F.when(is_kept, F.col("about")).otherwise(REST))


def _reads(cmd: Column, is_web: Column) -> Column:
    return (cmd == "getfileinfo") | ((cmd == "open") & is_web)


_IS_CACHEABLE: Final = (
    "startswith(src, '/') and (octet_length(src) <= 8000 or length(src) <= 8000) and (not contains(src, '/.') or"
    r" not (src rlike '/[.]{1,2}(/|$)' or startswith(src, '/.reserved') or concat(src, '/') like '%/.snapshot/%'))"
)
"""The same rule as `nncache.hadoop.paths.is_cacheable`."""


def _canonical(name: str) -> Column:
    """Return the canonical path, as `nncache.hadoop.paths.canonical`; lists of paths stay unchanged."""
    path = F.col(name)
    is_odd = F.contains(path, F.lit("//")) | (path.endswith("/") & (path != "/"))
    plain = F.regexp_replace(F.regexp_replace(path, "/{2,}", "/"), "(.)/$", "$1")
    return F.when(is_odd & path.startswith("/"), plain).otherwise(path)


_ACCESS_FIELDS: Final = {
    "caller": (1, "caller"),
    "target": (3, "target"),
    "status": (4, "status"),
    "result": (5, "result"),
    "operation": (6, "operation"),
    "weight": (7, "weight"),
}


def _of_access(number: int, key: str) -> Column:
    return F.when(F.col("is_json"), _in_json(key)).otherwise(F.regexp_extract("line", _COMBINED, number))


def _access_target() -> Column:
    is_combined = ~F.col("is_audit") & F.col("line").rlike(_COMBINED)
    return F.when(F.col("is_json") & F.contains("line", F.lit('"log":"access"')), _in_json("target")).when(
        is_combined, F.regexp_extract("line", _COMBINED, 3)
    )


def _access_time() -> Column:
    text = F.regexp_extract("line", _COMBINED, 2)
    combined = F.try_to_timestamp(text, F.lit("dd/MMM/yyyy:HH:mm:ss Z"))
    return F.when(F.col("is_json"), _moment(_in_json("time"))).otherwise(combined)
