"""The changer beside the driver: told when to begin, asked what came of it."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from nncache.bench.changing.changer import Order
from nncache.bench.changing.process import ChangerError, ChangerProcess
from nncache.bench.polling.clock import boottime
from nncache.bench.tables import CHANGES
from nncache.bench.workload import ChangeKind, Workload
from tests.bench.polling_server import Script, serving


def order(namenode: str, directory: Path) -> Order:
    """Return an order to delete files for half a second."""
    workload = Workload(
        name="small",
        description="",
        pollers=4,
        period_s=1.0,
        globs=2,
        paths=12,
        exist_share=1.0,
        changes_per_s=10.0,
        kinds={ChangeKind.DELETE: 1.0},
    )
    return Order(
        workload=workload,
        seed=1,
        root="/bench",
        namenode=namenode,
        superuser="hdfs",
        warm_up_s=0.0,
        duration_s=0.5,
        directory=str(directory),
    )


def test_it_says_what_came_of_it(tmp_path: Path) -> None:
    """This NameNode answers everything with the status of a file, which is no answer to a deletion."""
    with serving(Script()) as namenode:
        given = order(namenode, tmp_path)
        with ChangerProcess(given) as changer:
            changer.await_ready()
            changer.begin(boottime() + 0.1)
            outcome = changer.outcome()
    assert len(given.changes()) > 1
    assert (outcome.changes, len(outcome.refused)) == (0, len(given.changes()))
    paths = [given.plan().path(change.path_id) for change in given.changes()]
    assert all(f"delete {path}: " in said for path, said in zip(paths, outcome.refused, strict=True))
    assert 0 < outcome.cpu_s < 0.6
    table = pq.read_table(tmp_path / "changes.parquet")
    assert table.schema.equals(CHANGES)
    assert {(row["kind"], row["status"], row["file_id"]) for row in table.to_pylist()} == {
        ("initial", 200, 16389)
    }
    assert table.num_rows == 12


def test_one_that_can_not_begin_is_an_error(tmp_path: Path) -> None:
    """Nobody is at this address."""
    with (
        ChangerProcess(order("127.0.0.1:1", tmp_path)) as changer,
        pytest.raises(ChangerError, match="did not begin"),
    ):
        changer.await_ready()
    assert list(tmp_path.iterdir()) == []


def test_one_that_ends_before_its_time_is_an_error(tmp_path: Path) -> None:
    """It can't write its table where it is told to."""
    with serving(Script()) as namenode, ChangerProcess(order(namenode, tmp_path / "not there")) as changer:
        changer.await_ready()
        changer.begin(boottime())
        with pytest.raises(ChangerError, match="before its time"):
            changer.outcome()
