"""Configuration mistakes, and the findings that `nncache check` must report for each."""

PROXY_ON = "proxy --listen 127.0.0.1:0 --admin 127.0.0.1:0 --user {superuser}"
PUBLISHER_ON = "publisher --admin 127.0.0.1:0 --user {superuser} --filters-path {filters}"
FIRST = "--namenode-http {http} --namenode-rpc {rpc}"
DIRECT = f"{PROXY_ON} {FIRST} --glob /user/*"
ON_ZOOKEEPER = "--zookeeper {zookeeper} --zookeeper-root {root} --nameservice ns1"

Plant = tuple[str, str, str, tuple[str, ...]]
"""The words, the check that must fail or warn, its verdict, and the parts of its line."""

WRONG_SETTINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "URL as address": (
        f"{PROXY_ON} --namenode-http http://nn1:9870",
        ("namenode_http: http://nn1:9870", "must be host:port", "nn1:9870"),
    ),
    "address without a port": (f"{PROXY_ON} --namenode-http nn1", ("namenode_http: nn1", "host:port")),
    "lists of unequal length": (
        f"{PROXY_ON} --namenode-http a:1,b:1 --namenode-rpc a:2",
        ("namenode_rpc: a:2", "as many NameNodes as namenode_http, 2"),
    ),
    "a NameNode twice": (
        f"{PROXY_ON} --namenode-http a:1,a:1 --namenode-rpc a:2,b:2",
        ("namenode_http: a:1", "each NameNode once"),
    ),
    "ZooKeeper with a path": (
        f"{PROXY_ON} --zookeeper zk1:2181/x",
        ("zookeeper: zk1:2181/x", "/x belongs in zookeeper_root"),
    ),
    "glob and ZooKeeper": (f"{PROXY_ON} --zookeeper zk1:2181 --glob /a", ("glob: /a", "filters add")),
    "a broken glob": (f"{PROXY_ON} --glob /user/[a-z", ("glob: /user/[a-z", "no ] closes this [")),
    "a bound never met": (
        f"{PROXY_ON} --max-staleness-s 0.001",
        ("max_staleness_s: 0.001", "must be more than", "3 is the default"),
    ),
    "a number that is none": (f"{PROXY_ON} --max-calls many", ("max_calls: many", "whole number")),
    "a user name that is none": (f"{DIRECT} --user a:b", ("user: a:b", "user name that HDFS knows")),
    "publisher without ZooKeeper": (PUBLISHER_ON, ("zookeeper: none", "nncache publisher")),
    "no such file": (f"{PROXY_ON} --config /no/such.toml", ("/no/such.toml", "No such file")),
    "clients authenticated without a secret": (
        f"{DIRECT} --principal n/h@R --keytab /k --spnego-principal HTTP/h@R --spnego-keytab /k",
        ("cookie_secret_file: none: must be a file, since spnego_principal is given",),
    ),
    "clients authenticated without an identity": (
        f"{DIRECT} --spnego-principal HTTP/h@R --spnego-keytab /k --cookie-secret-file /s",
        ("spnego_principal: HTTP/h@R: needs principal and keytab",),
    ),
    "a principal of the web that is none": (
        f"{DIRECT} --principal n/h@R --keytab /k --spnego-principal p/h@R --spnego-keytab /k --cookie-secret-file /s",
        ("spnego_principal: p/h@R: must be HTTP/HOST",),
    ),
    "one port for both": (
        "proxy --listen 127.0.0.1:9 --admin 127.0.0.1:9 --namenode-http a:1 --namenode-rpc a:2",
        ("admin: 127.0.0.1:9: must not be the port of listen", "give it another one"),
    ),
    "one port for TLS and plain HTTP": (
        f"{DIRECT} --listen 0.0.0.0:9 --tls-listen 127.0.0.1:9 --tls-certificate /c --tls-key /k",
        ("tls_listen: 127.0.0.1:9: must not be the port of listen", "give it another one"),
    ),
    "seconds in bytes": (
        f"{DIRECT} --max-staleness-s 3GiB",
        ("max_staleness_s: 3GiB: must be a number of seconds, or one with a unit, such as", '"10m"'),
    ),
    "per cent of nothing": (f"{DIRECT} --max-calls 1%", ("max_calls: 1%: must be a whole number",)),
    "a principal without a key": (
        f"{DIRECT} --principal nncache/h@R",
        ("keytab: none: must name the file with the key of nncache/h@R",),
    ),
    "a keytab without a principal": (
        f"{DIRECT} --keytab /k",
        ("principal: none: must say which key of keytab is meant", "klist -kt"),
    ),
    "a root that is no path": (
        f"{PROXY_ON} --zookeeper zk1:2181 --zookeeper-root kafka",
        ("zookeeper_root: kafka", "absolute path"),
    ),
    "TLS without a key": (
        f"{DIRECT} --tls-listen 127.0.0.1:9",
        ("tls_certificate", "must be a PEM file, since tls_listen is given"),
    ),
    "a registry without ZooKeeper": (
        f"{DIRECT} --registry",
        ("registry: true: needs the servers of ZooKeeper",),
    ),
    "no such directory": (
        f"{PROXY_ON} --hadoop-conf-dir /no/such",
        ("hadoop_conf_dir: /no/such", "core-site.xml"),
    ),
}
"""Settings with which no daemon can start. Nothing is contacted, and the exit code is 2."""

FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a key twice": (
        "max_calls = 3\nmax_calls = 4\n",
        ("at line 2", "max_calls is there twice", "remove one"),
    ),
    "a unit without quotes": ("max_staleness_s = 10m\n", ("at line 1", "must stand in quotes", '"10m"')),
    "a text without quotes": ("nameservice = ns1\n", ("nameservice: a text must stand in quotes",)),
    "bytes in seconds": ('max_cache_bytes = "2s"\n', ("max_cache_bytes: 2s", "bytes", '"2GiB"')),
    "a table of another program": ("[cache]\nttl = 3\n", ("[cache]: tables have no meaning here",)),
    "a list that is a text": ('glob = "/a"\n', ("glob: /a: must be a list of texts",)),
    "a misspelt key": ('lisen = "h:1"\n', ("lisen: no such key; the nearest is listen",)),
    "an unknown namespace": (
        '[mounts]\n"/a" = "two"\n[namespaces.one]\nnamenode_http = ["a:1"]\nnamenode_rpc = ["a:2"]\n',
        ("mounts: /a: two: must be the name of a namespace", "namespaces.one: is mounted nowhere"),
    ),
    "a mount point that is no path": (
        '[mounts]\n"a" = "one"\n[namespaces.one]\nnamenode_http = ["a:1"]\nnamenode_rpc = ["a:2"]\n',
        ("mounts",),
    ),
    "a secret": ('admin_token = "hidden"\n', ("a file of mode 0400", "admin_token_file")),
}
"""The content of a settings file, and the parts of the line that reports it."""

SITES: dict[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "no addresses of a nameservice": (
        {"dfs.nameservices": "ns1,ns2", "fs.defaultFS": "hdfs://ns1"},
        ("--nameservice", "ns2"),
        ("dfs.namenode.rpc-address.ns2: absent", "dfs.ha.namenodes.ns2"),
    ),
    "the NameNodes of a pair not named": (
        {
            "dfs.nameservices": "ns1",
            "fs.defaultFS": "hdfs://ns1",
            "dfs.namenode.rpc-address.ns1.nn1": "a:8020",
            "dfs.namenode.rpc-address.ns1.nn2": "b:8020",
        },
        (),
        ("dfs.namenode.rpc-address.ns1: absent", "dfs.ha.namenodes.ns1 must name them"),
    ),
    "an address of a pair absent": (
        {"dfs.nameservices": "ns1", "fs.defaultFS": "hdfs://ns1", "dfs.ha.namenodes.ns1": "nn1"},
        (),
        ("dfs.namenode.rpc-address.ns1.nn1: absent: must be host:port",),
    ),
    "no such nameservice": (
        {"dfs.nameservices": "ns1", "dfs.namenode.rpc-address.ns1": "a:8020"},
        ("--nameservice", "nsx"),
        ("nameservice: nsx: must be one of dfs.nameservices: ns1",),
    ),
    "several nameservices": (
        {"dfs.nameservices": "ns1,ns2", "fs.defaultFS": "s3a://bucket"},
        (),
        ("dfs.nameservices: ns1, ns2: are several; say with nameservice",),
    ),
}
"""The properties of hdfs-site.xml, additional words, and the parts of the line that reports the mistake."""

ADDRESSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ports swapped": (
        f"{PROXY_ON} --namenode-http {{rpc}} --namenode-rpc {{http}}",
        ("swapped", "set --namenode-http to {http} and --namenode-rpc to {rpc}"),
    ),
    "HTTP port wrong": (
        f"{PROXY_ON} --namenode-http {{closed}} --namenode-rpc {{rpc}}",
        ("namenode_http {closed} cannot be reached: [Errno 111]", "in --namenode-http, replace {closed}"),
    ),
    "RPC port wrong": (
        f"{PROXY_ON} --namenode-http {{http}} --namenode-rpc {{closed}}",
        (
            "namenode_rpc {closed} cannot be reached: [Errno 111]",
            "in --namenode-rpc, replace {closed}",
            "8020",
        ),
    ),
    "host unknown": (
        f"{PROXY_ON} --namenode-http nn1.invalid:9870 --namenode-rpc {{rpc}}",
        ("namenode_http nn1.invalid:9870 cannot be resolved", "in --namenode-http, replace nn1.invalid:9870"),
    ),
    "a proxy in front of a proxy": (
        f"{PROXY_ON} --namenode-http {{proxy}} --namenode-rpc {{rpc}}",
        ("namenode_http {proxy} is an nncache proxy", "the NameNode itself"),
    ),
    "a proxy in front of itself": (
        "proxy --listen {closed} --admin 127.0.0.1:0 --namenode-http {closed} --namenode-rpc {rpc}",
        ("namenode_http {closed} is the address on which this proxy itself listens",),
    ),
    "an admin port": (
        f"{PROXY_ON} --namenode-http {{proxy_admin}} --namenode-rpc {{rpc}}",
        ("namenode_http {proxy_admin} is the admin port of an nncache proxy",),
    ),
    "a DataNode": (
        f"{PROXY_ON} --namenode-http {{datanode}} --namenode-rpc {{rpc}}",
        ("namenode_http {datanode} is the HTTP port of a Hadoop daemon that is no NameNode (DataNode)",),
    ),
    "a TLS port": (
        f"{PROXY_ON} --namenode-http {{tls}} --namenode-rpc {{rpc}}",
        ("namenode_http {tls} is a TLS (https) port", "dfs.namenode.http-address", "HTTP_AND_HTTPS"),
    ),
    "a web server": (
        f"{PROXY_ON} --namenode-http {{web}} --namenode-rpc {{rpc}}",
        ("namenode_http {web} is an HTTP server that is no NameNode",),
    ),
    "ZooKeeper as RPC": (
        f"{PROXY_ON} --namenode-http {{http}} --namenode-rpc {{zookeeper}}",
        ("namenode_rpc {zookeeper} is a ZooKeeper", "dfs.namenode.rpc-address"),
    ),
    "a hanging server": (
        f"{PROXY_ON} --namenode-http {{http}} --namenode-rpc {{silent}}",
        ("namenode_rpc {silent} accepts connections and answers nothing", "hangs"),
    ),
    "an SSH server": (
        f"{PROXY_ON} --namenode-http {{http}} --namenode-rpc {{ssh}}",
        ("namenode_rpc {ssh} is a server that speaks neither", "SSH-2.0"),
    ),
    "an HTTP port as ZooKeeper": (
        f"{PROXY_ON} {FIRST} --zookeeper {{web}}",
        ("zookeeper {web} is an HTTP server", "in --zookeeper, replace {web}", "2181"),
    ),
    "ZooKeeper down": (
        f"{PROXY_ON} {FIRST} --zookeeper {{closed}}",
        ("zookeeper {closed} cannot be reached: [Errno 111]",),
    ),
}
"""Addresses of the wrong kind of server: `addresses` must fail."""

SERVERS: dict[str, Plant] = {
    name: (words, "addresses", "failed", parts) for name, (words, parts) in ADDRESSES.items()
} | {
    "one ZooKeeper of two down": (
        f"{PROXY_ON} {FIRST} {ON_ZOOKEEPER} --zookeeper {{closed}}",
        "addresses",
        "warning",
        ("zookeeper {closed} cannot be reached", "others of the list answer"),
    ),
    "Kerberos": (
        f"{PROXY_ON} --namenode-http {{kerberos}} --namenode-rpc {{rpc}}",
        "identity",
        "failed",
        ("{kerberos} asks for Kerberos", "Negotiate", "--principal and --keytab"),
    ),
    "a filter of their own": (
        f"{PROXY_ON} --namenode-http {{custom}} --namenode-rpc {{rpc}}",
        "authentication",
        "failed",
        ("{custom} answers 401", "Bearer realm=x", "type=simple"),
    ),
    "single sign-on": (
        f"{PROXY_ON} --namenode-http {{sso}} --namenode-rpc {{rpc}}",
        "authentication",
        "failed",
        ("{sso} sends callers to https://sso.example/",),
    ),
    "a user who may not ask": (
        f"{PROXY_ON} --namenode-http {{forbidden}} --namenode-rpc {{rpc}}",
        "authentication",
        "failed",
        ("{forbidden} refuses /jmx to {superuser} (403)", "dfs.cluster.administrators"),
    ),
}

CLUSTERS: dict[str, Plant] = {
    "RPC list in another order": (
        f"{PROXY_ON} --namenode-http {{active_http}},{{standby_http}} --namenode-rpc {{standby_rpc}},{{active_rpc}}",
        "states",
        "failed",
        (
            "{active_http} is active over HTTP, {standby_rpc} is standby over RPC",
            "set --namenode-rpc to {active_rpc},{standby_rpc}",
        ),
    ),
    "the standby alone": (
        f"{PROXY_ON} --namenode-http {{standby_http}} --namenode-rpc {{standby_rpc}}",
        "states",
        "failed",
        ("no NameNode is active: {standby_http} is standby", "name all NameNodes", "--namenode-http"),
    ),
    "two actives of two clusters": (
        f"{PROXY_ON} --namenode-http {{http}},{{active_http}} --namenode-rpc {{rpc}},{{active_rpc}}",
        "states",
        "failed",
        ("several NameNodes are active", "NameNodes of one nameservice only"),
    ),
    "NameNodes of two clusters": (
        f"{PROXY_ON} --namenode-http {{http}},{{standby_http}} --namenode-rpc {{rpc}},{{standby_rpc}}",
        "namespace",
        "failed",
        ("the NameNodes serve BP-", "name the NameNodes of one nameservice only in --namenode-http"),
    ),
    "RPC of another cluster": (
        f"{PROXY_ON} --namenode-http {{http}} --namenode-rpc {{active_rpc}}",
        "namespace",
        "failed",
        ("{http} serves namespace BP-", "{active_rpc} serves BP-", "--namenode-http and --namenode-rpc"),
    ),
    "no superuser": (
        f"{DIRECT} --user joe",
        "edits",
        "failed",
        ("joe may not read the edits of {rpc}", "set --user to", "supergroup"),
    ),
    "a mistyped user": (
        f"{PROXY_ON} {FIRST} {ON_ZOOKEEPER} --user hdsf",
        "user",
        "warning",
        ("{rpc} finds hdsf in no group", "set --user to"),
    ),
    "few edits retained": (
        f"{PROXY_ON} --hadoop-conf-dir {{conf}}",
        "retention",
        "warning",
        ("keeps 1000 transactions", "dfs.namenode.num.extra.edits.retained", "1000000"),
    ),
    "X-Forwarded-For not believed": (
        DIRECT,
        "proxyservers",
        "warning",
        (
            "does not list our address 127.0.0.1",
            "add 127.0.0.1 to hadoop.proxyservers",
            "refreshSuperUserGroups",
        ),
    ),
}

IN_ZOOKEEPER: dict[str, Plant] = {
    "another root": (
        f"{PROXY_ON} {FIRST} --zookeeper {{zookeeper}} --zookeeper-root /nowhere",
        "nameservice",
        "failed",
        ("there is no /nowhere", "there is ", "{root}/ns1", "set --zookeeper-root"),
    ),
    "another nameservice": (
        f"{PROXY_ON} {FIRST} --zookeeper {{zookeeper}} --zookeeper-root {{root}} --nameservice nsl",
        "nameservice",
        "failed",
        ("there is no nameservice nsl", "but: ns1", "set --nameservice"),
    ),
    "a publisher's mistyped nameservice": (
        f"{PUBLISHER_ON} {FIRST} --zookeeper {{zookeeper}} --zookeeper-root {{root}} --nameservice nsl",
        "nameservice",
        "warning",
        ("nsl", "would make a second tree", "set --nameservice to ns1"),
    ),
    "NameNodes of another namespace": (
        f"{PROXY_ON} --namenode-http {{active_http}} --namenode-rpc {{active_rpc}} {ON_ZOOKEEPER}",
        "nameservice",
        "failed",
        ("{root}/ns1 in ZooKeeper belongs to namespace BP-", "{active_http} serves BP-", "set --nameservice"),
    ),
    "a glob one level short": (
        f"{PROXY_ON} {FIRST} --glob /user/**/_SUCCESS",
        "globs",
        "warning",
        ("/user/**/_SUCCESS", "/user/*/_SUCCESS and /user/*/*/_SUCCESS", "--glob"),
    ),
    "no glob": (f"{PROXY_ON} {FIRST}", "globs", "warning", ("no glob is given", "set --glob")),
    "a filter one level short": (
        f"publisher --admin 127.0.0.1:0 {FIRST} {ON_ZOOKEEPER} --filters-path {{odd_filters}}",
        "filters",
        "warning",
        ("filter deep: /user/**/_SUCCESS", "filter broken in", "nncache filters remove broken"),
    ),
    "no filters": (
        f"publisher --admin 127.0.0.1:0 {FIRST} {ON_ZOOKEEPER} --filters-path {{no_filters}}",
        "filters",
        "warning",
        ("there are no filters", "nncache filters add"),
    ),
}

ON_THIS_HOST: dict[str, Plant] = {
    "a port taken by another server": (
        f"proxy --listen {{web}} --admin 127.0.0.1:0 {FIRST}",
        "listen",
        "failed",
        ("listen {web} is taken", "HTTP server", "set --listen to another port"),
    ),
    "the publisher's port": (
        f"proxy --listen 127.0.0.1:0 --admin {{publisher_admin}} {FIRST}",
        "listen",
        "failed",
        ("admin {publisher_admin} is taken", "the admin port of an nncache publisher", "--admin"),
    ),
    "an address of another host": (
        f"proxy --listen 192.0.2.1:9871 --admin 127.0.0.1:0 {FIRST}",
        "listen",
        "failed",
        ("listen 192.0.2.1:9871 cannot be listened on", "Cannot assign", "--listen"),
    ),
    "more connections than files": (
        f"{DIRECT} --max-connections 2000000000",
        "limits",
        "failed",
        ("max_connections: 2000000000: must be at most", "ulimit -Hn", "LimitNOFILE"),
    ),
    "no token": (
        f"{DIRECT} --admin-token-file /no/token",
        "access",
        "failed",
        ("admin_token_file: /no/token", "must be a readable file", "--admin-token-file"),
    ),
    "no certificate": (
        f"{DIRECT} --tls-listen 127.0.0.1:0 --tls-certificate /no/pem --tls-key /no/key",
        *("certificates", "failed", ("tls_key: /no/key: No such file", "correct --tls-key")),
    ),
    "no such class": (
        f"{DIRECT} --channel no.such:Class",
        "access",
        "failed",
        ("channel: no.such:Class", "--channel"),
    ),
    "probes slower than the bound": (
        f"{PROXY_ON} {FIRST} {ON_ZOOKEEPER} --max-staleness-s 1 --namenode-probe-interval-s 2",
        "staleness",
        "warning",
        ("max_staleness_s is 1 and namenode_probe_interval_s is 2", "set --max-staleness-s to 6"),
    ),
    "coverage slower than the bound": (
        f"{PUBLISHER_ON} {FIRST} {ON_ZOOKEEPER} --coverage-interval-s 5",
        "staleness",
        "warning",
        ("coverage_interval_s is 5", "set --coverage-interval-s to 0.5"),
    ),
}

PLANTS = SERVERS | CLUSTERS | IN_ZOOKEEPER | ON_THIS_HOST


REGISTERS = (
    f"{PROXY_ON} {FIRST} --glob /user/* --channel direct --registry --zookeeper {{zookeeper}} "
    "--registry-host 127.0.0.1 --registry-root {registry}"
)

IN_THE_REGISTRY: dict[str, Plant] = {
    "another root of the registry": (
        f"{REGISTERS} --registry-root /nowhere",
        "registry",
        "warning",
        ("there is no /nowhere", "set --registry-root", "hadoop.registry.zk.root"),
    ),
    "a registry that is closed": (
        f"{REGISTERS} --registry-root {{closed_registry}}",
        "registry",
        "failed",
        ("the ACL of / lets no client", "cannot register", "--registry-secure and --zookeeper-sasl"),
    ),
    "a host that others cannot reach": (
        REGISTERS,
        "registered",
        "warning",
        ("127.0.0.1 is registered", "no other host can reach it", "set --registry-host"),
    ),
    "a host that is not one": (
        f"{REGISTERS} --registry-host proxy.invalid",
        "registered",
        "failed",
        ("proxy.invalid is registered, and cannot be resolved", "set --registry-host"),
    ),
    "an entry that a crash left": (
        f"{REGISTERS} --listen {{left}}",
        "registered",
        "warning",
        (
            "is registered, but no proxy runs at listen",
            "nncache registry rm /services/nncache/components/proxy-",
        ),
    ),
    "an entry of another service": (
        f"{REGISTERS} --listen {{foreign}}",
        "registered",
        "failed",
        ("is bound to another service (of another team)", "--registry-host or port"),
    ),
    "an entry that is broken": (
        f"{REGISTERS} --listen {{broken}}",
        "registered",
        "warning",
        ("holds no record that can be read", "replaces it"),
    ),
    "a proxy that runs unregistered": (
        f"{REGISTERS} --listen {{proxy}}",
        "registered",
        "failed",
        ("a proxy runs at listen, but there is no /services/nncache", "its log"),
    ),
    "entries of daemons that are gone": (
        REGISTERS,
        "stale",
        "warning",
        ("({left})", "({web}, which is an HTTP server", "nncache registry rm PATH"),
    ),
    "the registry's ZooKeeper is down": (
        REGISTERS.replace("{zookeeper}", "{closed}"),
        "addresses",
        "failed",
        ("zookeeper {closed} cannot be reached",),
    ),
}
