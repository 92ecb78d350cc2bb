"""A Spark job whose tasks share one delegation token. It prints their replies as JSON.

Run as `python -m tests.secured.spark_job URL TOKEN DIRECTORY NAME TIMES`; the driver got the token. It is a process of
its own because Spark keeps the driver's JVM until the process ends.
"""

import json
import sys

import requests

from nncache.bench.spark import session

TASKS = 2


def main(url: str, token: str, directory: str, name: str, times: int) -> None:
    """Poll a status and list its directory in each task."""

    def work(_: int) -> tuple[list[tuple[str, bool]], list[str]]:
        import hdfs  # noqa: PLC0415 - in the task's own process

        replies: list[tuple[str, bool]] = []

        def note(reply: requests.Response, *_: object, **__: object) -> None:
            op = reply.url.partition("op=")[2].partition("&")[0]
            replies.append((op, reply.headers.get("Cache-Status", "").startswith("nncache; hit")))

        client, names = hdfs.TokenClient(url, token), []
        client._session.hooks["response"] = [note]  # noqa: SLF001 - to see the header fields of replies
        for _ in range(times):
            client.status(f"{directory}/{name}")
            names += client.list(directory)  # also asks for the status of the directory
        return replies, names

    with session(f"local[{TASKS}]") as spark:
        found = spark.sparkContext.parallelize(range(TASKS), TASKS).map(work).collect()
    print(json.dumps(found))  # noqa: T201 - the output of the program


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
