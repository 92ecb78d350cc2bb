"""Fuzz one target in this process, led by coverage.

Run by `tests.hostile.fuzzing.running`: `python -m tests.hostile.fuzzing.executing TARGET MODULE,MODULE...`, with
libFuzzer's arguments behind it. Needs Atheris (`make hostile`).
"""

import sys

import atheris

from tests.quiet import be_quiet


def main(name: str, modules: str, arguments: list[str]) -> None:
    """Try inputs until libFuzzer's limits are reached, or one breaks the target."""
    with atheris.instrument_imports(include=modules.split(",")):
        from tests.hostile.fuzzing.table import TARGETS  # noqa: PLC0415 - imports the product, to be instrumented
    be_quiet()
    atheris.Setup(["fuzz", *arguments], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
