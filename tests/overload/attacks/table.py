"""The table of all attacks, with the requirements under each."""

from typing import Final

from tests.overload.attack import Attack, Expected, Forwards
from tests.overload.attacks import crowds, filling, forgetting, heads, registry, troubles
from tests.overload.real_cluster import Setting
from tests.real.proc import MIB
from tests.real.stand import Channel

SMALL: Final = Setting(table_bytes=2 * MIB)
"""Room for the polled entries, and for little else."""

CLIENTS_WAIT: Final = Expected(
    forward_p99_s=3.0,
    why="where all connections to the NameNode wait for their clients, a call waits 1 s before it takes one of them",
)

OF_THE_REGISTRY: Final = Setting(has_registry=True)
NO_STALLS: Final = Expected(stalls=0)

ATTACKS: Final = (
    Attack(name="deep", finding="1", what="64 KB path of MKDIRS, 2/s", body=heads.deep),
    Attack(name="unknown", finding="1", what="64 KB path, unknown operation, 2/s", body=heads.unknown),
    Attack(name="parameters", finding="1", what="32,000 repeated parameters, 2/s", body=heads.parameters),
    Attack(
        name="endless-head",
        finding="2",
        what="header fields without end behind an unread reply",
        body=heads.endless_head,
        needs_large=True,
    ),
    Attack(
        name="private-upload",
        finding="5",
        what="uploads where the service may not look (ZooKeeper), 1/s",
        body=forgetting.uploads,
        setting=Setting(channel=Channel.ZOOKEEPER, user="svc"),
    ),
    Attack(
        name="slow-rpc",
        finding="6",
        what="the NameNode's RPC 1.1 s slow, and uploads, 1/s",
        body=forgetting.uploads,
        trouble=troubles.rpc_is_slow,
        setting=Setting(has_relay=True),
    ),
    Attack(name="flushes", finding="7", what="calls that emptied the cache, 5/s", body=forgetting.flushes),
    Attack(
        name="windows",
        finding="8",
        what="400 CREATEs where carol may not write, of 200 windows",
        body=forgetting.windows,
        setting=Setting(flags={"max_two_step_windows": 200}),
    ),
    Attack(
        name="own-filters",
        finding="9",
        what="the owner of 50 filters changes their subscribers, 5/s (ZooKeeper)",
        body=forgetting.own_filters,
        setting=Setting(channel=Channel.ZOOKEEPER, user="svc", filters_of_carol=50),
        expected=Expected(more_calls_s=50.0, why="ten calls to the NameNode for each change of a filter"),
    ),
    Attack(
        name="witness-names",
        finding="10",
        what="fills under user names of 60,000 characters",
        body=filling.witnesses,
        setting=SMALL,
        seconds=30.0,
    ),
    Attack(
        name="long-windows",
        finding="10",
        what="windows over paths of 60,000 characters",
        body=filling.long_windows,
        setting=SMALL,
        seconds=30.0,
        quick_seconds=15.0,
    ),
    Attack(
        name="long-aside",
        finding="10",
        what="the same where no filter matches",
        body=filling.long_aside,
        setting=SMALL,
        seconds=30.0,
        quick_seconds=15.0,
    ),
    Attack(
        name="slow-listings",
        finding="11",
        what="32 slow readers of a long listing, 16 connections to the NameNode",
        body=crowds.slow_listings,
        setting=Setting(flags={"upstream_connections": 16}),
        expected=CLIENTS_WAIT,
        needs_large=True,
    ),
    Attack(
        name="silent-admin",
        finding="12",
        what="1,000 silent connections to the admin port, 600 files",
        body=crowds.silent_admin,
        setting=Setting(flags={"max_connections": 100, "upstream_connections": 64}, max_files=600),
    ),
    Attack(
        name="refused-reads",
        finding="13",
        what="refused and unknown calls that name the polled paths, 5/s",
        body=forgetting.refused_reads,
    ),
    Attack(
        name="registry-paths",
        finding="B3",
        what="300 held requests about entries 64 and 31,000 levels deep, while the registry changes",
        body=registry.deep_paths,
        setting=OF_THE_REGISTRY,
        expected=NO_STALLS,
    ),
    Attack(
        name="registry-removals",
        finding="B4",
        what="10,000 entries of the registry removed together, over and over",
        body=registry.removals,
        setting=OF_THE_REGISTRY,
        expected=NO_STALLS,
    ),
    Attack(
        name="registry-records",
        finding="B5",
        what="records of 250 KB and 900 KB, written and asked for",
        body=registry.large_records,
        setting=OF_THE_REGISTRY,
        expected=NO_STALLS,
    ),
    Attack(
        name="registry-chain",
        finding="B6",
        what="searches in a chain of 2,500 entries",
        body=registry.chain,
        setting=OF_THE_REGISTRY,
        expected=NO_STALLS,
    ),
    Attack(
        name="drip-heads",
        finding="item 9",
        what="5,000 clients drip heads",
        body=crowds.drip_heads,
        connections=crowds.CROWD,
        quick_seconds=9.0,
    ),
    Attack(
        name="drip-bodies",
        finding="item 9",
        what="5,000 clients drip bodies",
        body=crowds.drip_bodies,
        connections=crowds.CROWD,
        quick_seconds=9.0,
        expected=CLIENTS_WAIT,
    ),
    Attack(
        name="slow-reads",
        finding="item 9",
        what="5,000 clients read slowly",
        body=crowds.read_slowly,
        connections=crowds.CROWD,
        quick_seconds=9.0,
    ),
    Attack(
        name="connections",
        finding="item 3",
        what="1,000 connections held, of 400",
        body=crowds.hold_connections,
        setting=Setting(flags={"max_connections": 400}),
    ),
    Attack(
        name="scan",
        finding="item 10",
        what="ever further paths of a filter, 8 connections",
        body=filling.scan,
        setting=SMALL,
        seconds=30.0,
    ),
    Attack(
        name="held",
        finding="item 3",
        what="600 clients wait (`Prefer: wait`), with 64 KB of entity tags, with fields of 60 KB and of 4 KB",
        body=filling.held,
        setting=SMALL,
        connections=filling.HELD,
        head_bytes=64 * 1024,
        quick_seconds=9.0,
    ),
    Attack(
        name="namenode-hangs",
        finding="item 9",
        what="the NameNode stands still (SIGSTOP)",
        trouble=troubles.namenode_hangs,
        expected=Expected(
            hits_go_on=False,
            forwards=Forwards.MAY_WAIT,
            why="Bounded: hits end max_staleness_s after the last proof; nothing else can answer",
        ),
    ),
    Attack(
        name="full-disk",
        finding="item 9",
        what="the log's file system is full",
        trouble=troubles.disk_is_full,
        setting=Setting(has_relay=True, has_small_log=True),
    ),
    Attack(
        name="no-files",
        finding="item 9",
        what="no file descriptors left, and 1,000 new connections",
        body=crowds.hold_connections,
        trouble=troubles.no_files_left,
        expected=Expected(
            newcomers=False,
            forwards=Forwards.REFUSED_CLEARLY,
            why="without a descriptor no connection can be accepted",
        ),
    ),
    Attack(
        name="no-memory",
        finding="item 9",
        what="no memory left beyond the bound (RLIMIT_DATA), and fills as above",
        body=filling.witnesses,
        trouble=troubles.no_memory_left,
        setting=SMALL,
    ),
)
"""In the order of the findings."""

BY_NAME: Final = {attack.name: attack for attack in ATTACKS}
