"""Code that Spark's executors run needs no installation of nncache."""

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from nncache.advisor import generating, parse, replaying
from nncache.advisor.generator import Spec, lines_of
from nncache.advisor.replay import ReplayRules
from nncache.advisor.usual import events_of

RUN = """
import pickle, sys
import pyarrow as pa
sys.modules.update(dict.fromkeys(("nncache", "tests")))
fold, lines_of, spec, events_of, rules = pickle.loads(open(sys.argv[1], "rb").read())
row = {"directory": "/a", "at": 1, "kind": 10, "path": "/a/b", "user": "ann", "glob": 0, "is_web": True, "weight": 1}
batch = pa.RecordBatch.from_pylist([row, row | {"at": 2}])
lines = pa.RecordBatch.from_arrays([pa.array([line.encode() for line in lines_of(spec, 0)])], ["line"])
print([batch.to_pylist()[0]["hits_high"] for batch in fold(iter([batch]))], lines.num_rows)
print(sum(batch.num_rows for batch in events_of([lines], rules)) == lines.num_rows)
"""


def test_executors_need_nothing_of_ours(spark: SparkSession, tmp_path: Path) -> None:
    """The code is pickled by value: a worker that cannot import nncache generates, parses and replays."""
    assert generating.__name__ in sys.modules  # so that the generator is pickled by value
    spec = Spec(2_000, globs=3, parts=1)
    blob = tmp_path / "blob"
    work = (replaying.on_executors(ReplayRules()), lines_of, spec, events_of, parse.usual_rules(spark))
    blob.write_bytes(cloudpickle.dumps(work))  # type: ignore[no-untyped-call]  # dumps has no annotations
    worker = (sys.executable, "-c", RUN, str(blob))
    done = subprocess.run(worker, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout, done.stderr) == (f"[1] {sum(1 for _ in lines_of(spec, 0))}\nTrue\n", "")
