"""The story of `make demo LIGHT=1`: what a NameNode and a proxy alone can show, without Java."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from nncache.demo.clients import Clients
from nncache.demo.story import changing, make_home
from nncache.demo.system import GLOB, NAMESERVICE, OWNER, WORKFLOW, Stage, typed
from nncache.demo.terminal import Story, Terminal
from nncache.testbed import readiness
from nncache.testbed.daemon import Program, Proxy
from nncache.testbed.ports import PortLease
from nncache.testbed.spec import own_user


@contextmanager
def running(terminal: Terminal) -> Iterator[Story]:
    """Start a light cluster and a proxy that follows its edits itself, and return the story.

    Raises:
        TestbedError: something does not start; nothing is left running then.
    """
    with ExitStack() as stack:
        ports, superuser = stack.enter_context(PortLease()), own_user()
        http, rpc = (f"127.0.0.1:{ports.take()}" for _ in range(2))
        with terminal.working("A light cluster: NameNode and DataNode in one process, without Java") as say:
            own = ("--port", http.rpartition(":")[2], "--rpc-port", rpc.rpartition(":")[2])
            namenode = Program(
                "cluster", "--light", *own, is_up=lambda: readiness.namenode_state(http) == "active"
            )
            say(f"$ {typed(*namenode.typed)}")
            stack.enter_context(namenode)
        with terminal.working("The proxy: answers clients, and reads the NameNode's edits itself") as say:
            addresses = ("--namenode-http", http, "--namenode-rpc", rpc)
            flags = ("--nameservice", NAMESERVICE, *addresses, "--user", superuser, "--glob", GLOB)
            proxy = Proxy(*flags)
            say(f"$ {typed(*proxy.typed)}")
            stack.enter_context(proxy).await_gate()
        stage = Stage(
            namenode_http=http,
            superuser=superuser,
            proxy=proxy,
            loop=stack.enter_context(asyncio.Runner()),
            clients=Clients(proxy.address),
        )
        make_home(stage)
        target = f"{WORKFLOW}/day-1/_SUCCESS?op=GETFILESTATUS&user.name="
        reading = f"curl -i 'http://{proxy.address}/webhdfs/v1{target}bob'"
        asking = f"curl 'http://{http}/webhdfs/v1{target}{OWNER}'"
        hints = (
            ("Read through nncache; ask twice and look at Cache-Status:", reading),
            ("Ask the light NameNode itself:", asking),
            ("The proxy's own pages, for a browser:", f"http://{proxy.admin}/"),
        )
        yield Story(changing(stage), hints, proxy)
