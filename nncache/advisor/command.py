"""Run `nncache advise`: Spark, the stages, the report. (nncache/advisor/command.py)"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from zoneinfo import ZoneInfo

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from nncache.advisor import outputs
from nncache.advisor.figures import NOTHING, Bracket
from nncache.advisor.generating import generated_lines, generated_truth
from nncache.advisor.generator import Spec, Truth
from nncache.advisor.outputs import percent
from nncache.advisor.report import finding, write_report
from nncache.advisor.run import Advice, AdviseJob, AdvisorError, advise, reasons_of
from nncache.advisor.spark import session
from nncache.hadoop.globs import GlobSet
from nncache.invalidation.filters.settings import FilterSettings

__all__ = ["AdviseOptions", "AdviseResult", "AdvisorError", "Compared", "against_truth", "carry_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseOptions:
    """The options of the command line; `key` is the key of pseudonyms."""

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
class AdviseResult:
    """The result to print."""

    lines: tuple[str, ...]
    unknown_share: float


def carry_out(order: AdviseOptions, announce: Callable[[str], None]) -> AdviseResult:
    """Run all steps and write the report.

    Raises:
        AdvisorError: there is no usable input, or the report cannot be written.
    """
    _check_writable(order.out)
    _check_apart(order.inputs, order.out)
    # A report with pseudonyms may be passed on, so its folder must not contain the events.
    beside = order.out.with_name(f"{order.out.name}-events.parquet")
    events = order.events or for_spark(order.out / "events.parquet" if order.key is None else beside)
    with ExitStack() as stack:
        try:
            spark = stack.enter_context(session(order.master, order.zone.key))
        except (PySparkException, Py4JJavaError) as error:
            raise AdvisorError(
                f"Spark, which needs Java 17, does not start: {reasons_of(error)[-1]}"
            ) from error
        inputs, truths = order.inputs, list[Truth]()
        if order.generate is not None:
            spec = Spec(order.generate, parts=max(4, spark.sparkContext.defaultParallelism))
            log = for_spark(order.out / "generated")
            announce(f"generate about {spec.lines:,} lines")
            shutil.rmtree(log, ignore_errors=True)
            generated_lines(spark, spec).write.text(log, compression="gzip")
            truths, inputs = generated_truth(spark, spec), (log,)
        question = AdviseJob(
            inputs=inputs,
            events=events,
            since=order.since,
            until=order.until,
            sample=order.sample,
            warm_up_s=0.0 if truths else order.warm_up_s,
            most=order.most,
            limits=order.limits,
        )
        advice = advise(spark, question, announce)
    advice = replace(advice, filters=outputs.named(advice.filters))
    shown = advice if order.key is None else outputs.Pseudonyms(order.key).advice(advice)
    write_report(order.out, shown, order.zone, with_filters=order.key is None)
    compared = against_truth(advice, truths).lines() if truths else ()
    return AdviseResult(
        (finding(shown), *compared, f"report: {order.out / 'report.html'}"), advice.unknown_share
    )


def for_spark(path: Path) -> str:
    """Return a path for Spark, which takes a colon in the first name of a relative one for the end of a scheme."""
    return str(path) if path.is_absolute() else f"./{path}"


def _check_writable(folder: Path) -> None:
    """Create the folder of the report and check that it is writable, before hours of work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise AdvisorError(
            f"--out {folder}: nothing can be written there ({error.strerror}); name a folder in which this user may"
        ) from error


def _check_apart(inputs: Sequence[str], folder: Path) -> None:
    """Check that no input contains the report and the events of an earlier run, which this run replaces."""
    for each in inputs:
        if folder.resolve().is_relative_to(Path(each).resolve()) and (folder / "report.md").exists():
            raise AdvisorError(
                f"{each}: contains the report of an earlier run, {folder}: remove that, or name another --out"
            )


@dataclass(frozen=True, slots=True)
class Compared:
    """The recommended filters compared with the planted globs.

    Attributes:
        found: planted globs that a filter matches.
        as_themselves: planted globs that are themselves a filter.
        more_paths: additional paths of the filters that match a planted glob, as a share of the planted paths.
        strange: filters that match no planted path.
        known, forecast: saved calls as a share of the reads of a status, counted by the generator and by the replay.
    """

    planted: int
    found: int
    as_themselves: int
    more_paths: float
    strange: int
    known: float
    forecast: Bracket

    def lines(self) -> tuple[str, ...]:
        """Return the lines to print."""
        found = (
            f"of {self.planted} planted globs {self.found} were found, {self.as_themselves} of them as themselves; "
            f"{100 * self.more_paths:.1f} % more paths; {self.strange} filters match no planted path"
        )
        return (
            found,
            f"saved by the generator's count: {100 * self.known:.2f} %; forecast: {percent(self.forecast)}",
        )


def against_truth(advice: Advice, truths: Sequence[Truth]) -> Compared:
    """Compare the recommended filters with the planted globs."""
    filters = {each.glob: each for each in advice.filters}
    globs = GlobSet({glob: glob for glob in filters})
    taken = {truth.glob: globs.names_matching(truth.example) for truth in truths}
    found = [truth for truth in truths if taken[truth.glob]]
    useful = frozenset[str]().union(*taken.values())
    paths = sum(truth.paths for truth in found)
    return Compared(
        planted=len(truths),
        found=len(found),
        as_themselves=sum(truth.glob in filters for truth in truths),
        more_paths=sum(filters[glob].paths for glob in useful) / paths - 1 if paths else 0.0,
        strange=len(filters) - len(useful),
        known=sum(truth.reads - truth.calls for truth in truths) / advice.statuses,
        forecast=sum((each.saved for each in advice.filters), NOTHING).of(advice.statuses),
    )
