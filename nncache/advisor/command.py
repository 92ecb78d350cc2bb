"""Carry out `nncache advise`: Spark, the stages, the report. (nncache/advisor/command.py)"""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from nncache.advisor import outputs
from nncache.advisor.generating import generated_lines, generated_truth
from nncache.advisor.generator import Spec, Truth
from nncache.advisor.report import finding, write_report
from nncache.advisor.run import Advice, AdvisorError, Question, advise
from nncache.advisor.spark import session
from nncache.invalidation.filters.settings import FilterSettings

__all__ = ["AdvisorError", "Found", "Order", "carry_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the command line says; `key` is that of pseudonyms."""

    inputs: tuple[str, ...]
    out: Path
    master: str | None
    events: str | None
    zone: ZoneInfo
    since: int | None
    until: int | None
    sample: float
    warm_up_s: float
    most: int
    limits: FilterSettings
    key: bytes | None
    generate: int | None


@dataclass(frozen=True, slots=True)
class Found:
    """What is printed."""

    lines: tuple[str, ...]
    unknown_share: float


def carry_out(order: Order, stage: Callable[[str], None]) -> Found:
    """Run all stages and write the report.

    Raises:
        AdvisorError: there is nothing to work with.
    """
    # What is handed on with pseudonyms must not have the events beside it.
    beside = order.out.with_name(f"{order.out.name}-events.parquet")
    events = order.events or str(order.out / "events.parquet" if order.key is None else beside)
    with session(order.master, order.zone.key) as spark:
        inputs, truths = order.inputs, list[Truth]()
        if order.generate is not None:
            spec = Spec(order.generate, parts=max(4, spark.sparkContext.defaultParallelism))
            log = order.out / "generated"
            stage(f"generate about {spec.lines:,} lines")
            shutil.rmtree(log, ignore_errors=True)
            generated_lines(spark, spec).write.text(str(log), compression="gzip")
            truths, inputs = generated_truth(spark, spec), (str(log),)
        question = Question(
            inputs=inputs,
            events=events,
            since=order.since,
            until=order.until,
            sample=order.sample,
            warm_up_s=0.0 if truths else order.warm_up_s,
            most=order.most,
            limits=order.limits,
        )
        advice = advise(spark, question, stage)
    advice = replace(advice, filters=outputs.named(advice.filters))
    shown = advice if order.key is None else outputs.Pseudonyms(order.key).advice(advice)
    write_report(order.out, shown, order.zone, with_filters=order.key is None)
    compared = against_truth(advice, truths) if truths else ()
    return Found((finding(shown), *compared, f"report: {order.out / 'report.html'}"), advice.unknown_share)


def against_truth(advice: Advice, truths: Iterable[Truth]) -> tuple[str, ...]:
    """Say how what was found compares with what was planted."""
    truths = tuple(truths)
    globs = {each.glob for each in advice.filters}
    planted = {each.glob for each in truths}
    known = 100 * sum(each.reads - each.calls for each in truths) / advice.statuses
    low, high = (
        100 * sum(end) / advice.statuses
        for end in zip(*((each.saved.low, each.saved.high) for each in advice.filters), strict=True)
    )
    return (
        f"of {len(planted)} planted globs {len(planted & globs)} were found as themselves, and {len(globs - planted)} others",
        f"saved by the generator's own count: {known:.2f} % of the reads of a status; forecast: {low:.2f} to {high:.2f} %",
    )
