"""Show what an audit has found."""

from collections.abc import Iterator

from nncache.commands.audit_questions import AuditReport
from nncache.logs import one_line
from nncache.proxy.audit_judge import AUDIT_OUTCOMES, AuditOutcome

VERDICTS = {0: "right", 1: "wrong", 2: "not known"}
"""By exit code."""


def report_as_json(report: AuditReport) -> dict[str, object]:
    """Return the report as JSON holds it."""
    return {
        "verdict": VERDICTS[report.exit_code],
        "exit_code": report.exit_code,
        "compared": report.compared,
        "outcomes": {outcome.value: report.outcomes[outcome] for outcome in AuditOutcome},
        "not_from_memory": report.not_from_memory,
        "wrong": list(report.wrong),
    }


def lines(report: AuditReport) -> Iterator[str]:
    """Yield the lines for people: what was found, then the verdict."""
    for outcome in AuditOutcome:
        if count := report.outcomes[outcome]:
            yield f"{count:>7,} {outcome}: {AUDIT_OUTCOMES[outcome]}"
    if report.not_from_memory:
        yield f"{report.not_from_memory:>7,} not from memory: the proxy asked the NameNode itself, nothing to compare"
    for path in report.wrong:
        yield one_line(f"wrong answer from memory: {path}")
    yield verdict(report)


def verdict(report: AuditReport) -> str:
    """Return the last line."""
    wrong, unproven = report.outcomes[AuditOutcome.BEYOND], report.outcomes[AuditOutcome.UNPROVEN]
    match report.exit_code:
        case 0:
            return f"right: {report.compared:,} answers from memory compared, none beyond the bound"
        case 1:
            return (
                f"wrong: {wrong:,} of {report.compared:,} answers from memory beyond the bound (Bounded is broken): "
                "take the globs or filters for these paths out of force, and report what nncache explain says of them"
            )
        case _ if unproven:
            return (
                f"not known: {unproven:,} answers differ, and the proxy could not prove in time that it knows all "
                "changes (nncache explain PATH says what its gate waits for)"
            )
        case _:
            return (
                "not known: no answer from memory could be compared; is anything cached, and may the user see it? "
                "(nncache top, --user)"
            )
