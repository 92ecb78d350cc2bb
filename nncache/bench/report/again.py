"""Write reports again from the figures of their runs: `python -m nncache.bench.report.again DIRECTORY...`.

For runs that are kept, when what a report says of its figures has changed. (bench/report/again.py)
"""

import sys
from pathlib import Path

import msgspec

from nncache.bench.checks import also_checks, checks
from nncache.bench.limits import LIMITS
from nncache.bench.report.write import read_figures, write_report
from nncache.bench.workload import Workload


def write_again(directory: Path) -> None:
    """Write charts, page and README.md of a run again, with the checks and limits of today.

    Raises:
        FiguresError: its figures can't be read.
    """
    info, modes, also = read_figures(directory)
    demanded = (*checks(modes, msgspec.convert(info.workload, Workload)), *also_checks(also))
    write_report(directory, info, modes, demanded, LIMITS, also)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_again(Path(name))
