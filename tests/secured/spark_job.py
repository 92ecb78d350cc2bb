"""A Spark job whose tasks ask with one delegation token; prints what each got, as JSON.

`python -m tests.secured.spark_job URL TOKEN DIRECTORY NAME TIMES`, the token by its driver. In a process of its own:
Spark leaves the JVM of its driver to the end of that.
"""

import json
import sys

import requests

from nncache.bench.spark import session

TASKS = 2


def main(url: str, token: str, directory: str, name: str, times: int) -> None:
    """Poll a status, and list its directory, in each task."""

    def work(_: int) -> tuple[list[tuple[str, bool]], list[str]]:
        import hdfs  # noqa: PLC0415 - in the task's own process

        replies: list[tuple[str, bool]] = []

        def note(reply: requests.Response, *_: object, **__: object) -> None:
            op = reply.url.partition("op=")[2].partition("&")[0]
            replies.append((op, reply.headers.get("Cache-Status", "").startswith("nncache; hit")))

        client, names = hdfs.TokenClient(url, token), []
        client._session.hooks["response"] = [note]  # noqa: SLF001 - to see what a reply says
        for _ in range(times):
            client.status(f"{directory}/{name}")
            names += client.list(directory)  # asks for the status of the directory, too
        return replies, names

    with session(f"local[{TASKS}]") as spark:
        found = spark.sparkContext.parallelize(range(TASKS), TASKS).map(work).collect()
    print(json.dumps(found))  # noqa: T201 - what it is run for


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
