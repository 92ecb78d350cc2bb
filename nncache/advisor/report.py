"""Write the report: Markdown, HTML, charts, figures, filters and a workload in a folder. (nncache/advisor/report.py)"""

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import jinja2
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from markdown_it import MarkdownIt

from nncache.advisor.charts import charts
from nncache.advisor.figures import (
    NOTHING,
    SOURCE_CALLS_PER_S,
    Bracket,
    RecommendedFilter,
    at_median_and_peak,
)
from nncache.advisor.outputs import filters_toml, memory, percent, shares, workload_toml
from nncache.advisor.run import Advice

_SHOWN: Final = 200
"""The number of filters in the table; the files have all of them."""


def write_report(folder: Path, advice: Advice, zone: ZoneInfo, *, with_filters: bool) -> None:
    """Write all files of a report; create the folder if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = charts(advice, zone)
    source = as_markdown(advice, zone)
    files = {
        "report.md": source,
        "report.html": _page(source, drawn),
        "workload.toml": workload_toml(advice),
        "figures.json": msgspec.json.format(msgspec.json.encode(_plain(advice))).decode() + "\n",
        **{f"{name}.svg": text for name, text in drawn.items()},
    }
    if with_filters:
        files["filters.toml"] = filters_toml(advice)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    with (folder / "figures.parquet").open("wb") as file:  # pyarrow would take a name with a colon for a URI
        pq.write_table(_table(advice), file)


def _plain(advice: Advice) -> dict[str, object]:
    return asdict(advice) | {"unknown_share": advice.unknown_share, "statuses": advice.statuses}


def _table(advice: Advice) -> pa.Table:
    """Return the savings of each filter in each bucket of time, for a notebook."""
    rows = [
        {
            "glob": each.glob,
            "protocol": protocol,
            "at": dt.datetime.fromtimestamp(bucket * advice.bucket_ms / 1000, dt.UTC),
            "saved_low": saved.low,
            "saved_high": saved.high,
        }
        for each in advice.filters
        for protocol, side in (("webhdfs", each.web), ("rpc", each.rpc))
        for bucket, saved in side.per_bucket.items()
    ]
    schema = pa.schema(
        {"glob": pa.string(), "protocol": pa.string(), "at": pa.timestamp("ms", "UTC")}
        | {"saved_low": pa.float64(), "saved_high": pa.float64()}
    )
    return pa.Table.from_pylist(rows, schema)


def _page(source: str, drawn: dict[str, str]) -> str:
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(source)
    for name, text in drawn.items():
        inline = text[text.index("<svg") :]
        body = re.sub(rf'<img src="{name}\.svg"[^>]*>', lambda _, inline=inline: inline, body)  # type: ignore[misc]  # mypy takes the default for another parameter
    return _templates().get_template("page.html.j2").render(title="What nncache would save", body=body)


def _templates() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        keep_trailing_newline=True,
    )
    found.filters["code"] = _code
    return found


def _code(text: object) -> str:
    """Return any text as inline code for a Markdown table."""
    plain = " ".join(str(text).split()).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    pad = " " if "`" in plain else ""
    return f"{fence}{pad}{plain}{pad}{fence}"


def as_markdown(advice: Advice, zone: ZoneInfo) -> str:
    """Return the report as Markdown."""
    seconds = max(0.001, (advice.last_ms - advice.first_ms) / 1000)
    calls = sum(each for each, _ in advice.asked.values())
    total = sum((shares(advice, each) for each in advice.filters), NOTHING)
    saved = sum((each.saved for each in advice.filters), NOTHING)
    stays = Bracket(calls - saved.high, calls - saved.low)

    def row(name: str, count: float) -> dict[str, str]:
        return {
            "name": name,
            "per_s": f"{count / seconds:,.1f}",
            "share": f"{100 * count / max(1, calls):.1f} %",
        }

    return (
        _templates()
        .get_template("report.md.j2")
        .render(
            finding=finding(advice),
            lines=f"{advice.lines:,}",
            first=_shown(advice.first_ms, zone),
            last=_shown(advice.last_ms, zone),
            zone=zone.key,
            sampled=""
            if advice.sample == 1
            else f"; of the directories {100 * advice.sample:g} % are replayed",
            reads=[
                row("over WebHDFS: a changed URL moves these to a proxy", advice.statuses_web),
                row("over RPC: only clients that move to WebHDFS", advice.statuses_rpc),
                row("of an OPEN over WebHDFS", advice.of_open),
                row("all calls", calls),
            ],
            total=percent(total),
            filters=[*_rows(advice)],
            stays=f"{_range(stays, 1 / seconds)} of {calls / seconds:,.1f} calls a second",
            memory=memory(sum((each.memory for each in advice.filters), NOTHING)),
            source=f"{SOURCE_CALLS_PER_S[0]:g} to {SOURCE_CALLS_PER_S[1]:g}",
            refused=[{"glob": glob, "reason": reason} for glob, reason in advice.refused.items()],
            loads=advice.loads,
            ranger=advice.ranger,
            of_open=advice.of_open,
            warm_up=f"{(advice.counted_from - advice.first_ms) / 1000:.0f}",
            unknown=f"{advice.unknown:,} ({100 * advice.unknown_share:.2f} %)",
            examples=advice.examples,
        )
    )


def finding(advice: Advice) -> str:
    """Return the result as one sentence."""
    web = sum((each.web.saved for each in advice.filters), NOTHING)
    rpc = sum((each.rpc.saved for each in advice.filters), NOTHING)
    calls = sum(each for each, _ in advice.asked.values())
    whole, by_web, by_rpc = (percent(each.of(advice.statuses)) for each in (web + rpc, web, rpc))
    filters = "1 filter" if len(advice.filters) == 1 else f"{len(advice.filters)} filters"
    return (
        f"With {filters} nncache would save {whole} of the reads of a status, "
        f"{percent((web + rpc).of(calls))} of all calls: {by_web} by a changed URL of clients on WebHDFS, "
        f"{by_rpc} if clients on RPC move to WebHDFS."
    )


def _rows(advice: Advice) -> Iterator[dict[str, str]]:
    per_s = 1000 / advice.bucket_ms
    for each in advice.filters[:_SHOWN]:
        median, peak = at_median_and_peak(each.saved_per_bucket(), advice.buckets)
        yield {
            "glob": each.glob,
            "saves": percent(shares(advice, each)),
            "web": _of_reads(each.web.saved, each.web.reads),
            "rpc": _of_reads(each.rpc.saved, each.rpc.reads),
            "median": _range(median, per_s),
            "peak": _range(peak, per_s),
            "memory": memory(each.memory),
            "paths": f"{each.paths:,}",
            "every": _every(each),
        }


def _of_reads(saved: Bracket, reads: int) -> str:
    return f"{percent(saved.of(reads))} of {reads:,}" if reads else "none"


def _every(each: RecommendedFilter) -> str:
    return "" if each.polled_every_s is None else f"{each.polled_every_s:g} s"


def _range(each: Bracket, factor: float) -> str:
    low, high = f"{each.low * factor:,.1f}", f"{each.high * factor:,.1f}"
    return low if low == high else f"{low} to {high}"


def _shown(at_ms: int, zone: ZoneInfo) -> str:
    return f"{dt.datetime.fromtimestamp(at_ms / 1000, zone):%Y-%m-%d %H:%M}"
