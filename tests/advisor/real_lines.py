"""Lines as NameNodes write them, with their fields.

A NameNode wrote those of 2.7.7, 2.10.2 and 3.5.0 (`tests/advisor/test_real_namenode.py` has more, of any release
that the test bed runs); the others follow `FSNamesystem.FSDefaultAuditLogger` of 2.7.3, 2.10.2 and 3.3.6.
"""

from tests.advisor.twin import AuditLine

_AT = 1795829697054  # 2026-11-28 02:34:57,054 in Berlin


def _line(**fields: object) -> AuditLine:
    given: dict[str, object] = {
        "at": _AT,
        "allowed": True,
        "ugi": "root (auth:SIMPLE)",
        "ip": "/127.0.0.1",
        "cmd": "getfileinfo",
        "src": "/a",
        "dst": None,
        "perm": None,
        "trackingId": None,
        "proto": "rpc",
        "callerContext": None,
    }
    return AuditLine(**(given | fields))  # type: ignore[arg-type]  # checked by the tests


_HEAD = "2026-11-28 02:34:57,054 INFO FSNamesystem.audit: "
_USUAL = "allowed=true\tugi=root (auth:SIMPLE)\tip=/127.0.0.1\tcmd=getfileinfo\tsrc=/a\tdst=null\tperm=null\tproto=rpc"

REAL: tuple[tuple[str, str, AuditLine], ...] = (
    (
        "3.5.0, beyond ASCII",
        _HEAD
        + "allowed=true\tugi=root (auth:SIMPLE)\tip=/127.0.0.1\tcmd=mkdirs\tsrc=/a\\u00E4\\u20AC\tdst=null"
        "\tperm=root:supergroup:rwxr-xr-x\tproto=webhdfs",
        _line(cmd="mkdirs", src="/aä€", perm="root:supergroup:rwxr-xr-x", proto="webhdfs"),
    ),
    (
        "3.5.0, tab, quote, backslash",
        _HEAD
        + 'allowed=true\tugi=root (auth:SIMPLE)\tip=/127.0.0.1\tcmd=mkdirs\tsrc=/t\\tab\\"q\\\\x\tdst=null'
        "\tperm=root:supergroup:rwxr-xr-x\tproto=webhdfs",
        _line(cmd="mkdirs", src='/t\tab"q\\x', perm="root:supergroup:rwxr-xr-x", proto="webhdfs"),
    ),
    (
        "3.5.0, a newline",
        _HEAD + _USUAL.replace("src=/a", "src=/nl\\nline"),
        _line(src="/nl\nline"),
    ),
    (
        "3.5.0, surrogates and =",
        _HEAD + _USUAL.replace("src=/a", "src=/emoji\\uD83D\\uDE00/dt=2026-01-01"),
        _line(src="/emoji\N{GRINNING FACE}/dt=2026-01-01"),
    ),
    (
        "3.5.0, rename with options",
        _HEAD
        + _USUAL.replace("getfileinfo", "rename (options=[OVERWRITE, TO_TRASH])").replace(
            "dst=null", "dst=/b"
        ),
        _line(cmd="rename (options=[OVERWRITE, TO_TRASH])", dst="/b"),
    ),
    (
        "3.5.0, a delete of what is not there",
        _HEAD + _USUAL.replace("allowed=true", "allowed=false").replace("getfileinfo", "delete"),
        _line(allowed=False, cmd="delete"),
    ),
    (
        "3.5.0, a command without a path, and a caller context",
        _HEAD + _USUAL.replace("src=/a", "src=null") + "\tcallerContext=CLI",
        _line(src=None, callerContext="CLI"),
    ),
    (
        "3.3.6, a tracking id before proto, and a context with a signature",
        _HEAD
        + _USUAL.replace("\tproto", "\ttrackingId=0a1b\tproto")
        + "\tcallerContext=mr_attempt_1_2_m_0:sig",
        _line(trackingId="0a1b", callerContext="mr_attempt_1_2_m_0:sig"),
    ),
    (
        "3.3.4, a context that is not escaped",
        _HEAD + _USUAL + "\tcallerContext=hive_1\tproto=webhdfs \\x",
        _line(callerContext="hive_1\tproto=webhdfs \\x"),
    ),
    (
        "3.4.1, of a Router",
        _HEAD + _USUAL + "\tcallerContext=clientIp:1.2.3.4,clientPort:5,realUser:ann,CLI",
        _line(callerContext="clientIp:1.2.3.4,clientPort:5,realUser:ann,CLI"),
    ),
    (
        "2.10.2, a proxy user of a proxy user, and an address with its name",
        _HEAD
        + _USUAL.replace("root (auth:SIMPLE)", "ann@R (auth:PROXY) via oozie/h@R (auth:KERBEROS)").replace(
            "ip=/127", "ip=host.example/127"
        ),
        _line(ugi="ann@R (auth:PROXY) via oozie/h@R (auth:KERBEROS)", ip="host.example/127.0.0.1"),
    ),
    (
        "2.7.3, a path with a raw tab and a raw backslash",
        _HEAD + _USUAL.replace("src=/a", "src=/a\tb\\d"),
        _line(src="/a\tb\\d"),
    ),
    (
        "2.7.3, a raw backslash, and a carriage return at the end of a path",
        _HEAD + _USUAL.replace("src=/a", "src=/a\\roto\r"),
        _line(src="/a\\roto\r"),
    ),
    (
        "2.7.3, concat",
        _HEAD
        + _USUAL.replace("getfileinfo", "concat")
        .replace("src=/a", "src=[/a, /b]")
        .replace("dst=null", "dst=/c"),
        _line(cmd="concat", src="[/a, /b]", dst="/c"),
    ),
    (
        "2.7.7, beyond ASCII, as it is",
        _HEAD + _USUAL.replace("src=/a", "src=/a\u00e4\u20ac\N{GRINNING FACE}"),
        _line(src="/a\u00e4\u20ac\N{GRINNING FACE}"),
    ),
    (
        "2.7.7, a path that looks like a field",
        _HEAD + "allowed=true\tugi=root (auth:SIMPLE)\tip=/127.0.0.1\tcmd=mkdirs\tsrc=/f\tdst=null\tdst=null"
        "\tperm=root:supergroup:rwxr-xr-x\tproto=rpc",
        _line(cmd="mkdirs", src="/f", dst="null\tdst=null", perm="root:supergroup:rwxr-xr-x"),
    ),
    (
        "2.10.2, a proxy user",
        _HEAD
        + "allowed=true\tugi=carol (auth:PROXY) via root (auth:SIMPLE)\tip=/127.0.0.1\tcmd=getfileinfo\tsrc=/b"
        "\tdst=null\tperm=null\tproto=webhdfs",
        _line(ugi="carol (auth:PROXY) via root (auth:SIMPLE)", src="/b", proto="webhdfs"),
    ),
    (
        "2.10.2, rename with options",
        _HEAD + "allowed=true\tugi=root (auth:SIMPLE)\tip=/127.0.0.1\tcmd=rename (options=[OVERWRITE])"
        "\tsrc=/a\\u00E4\\u20AC\tdst=/b\tperm=root:supergroup:rwxr-xr-x\tproto=webhdfs",
        _line(
            cmd="rename (options=[OVERWRITE])",
            src="/a\u00e4\u20ac",
            dst="/b",
            perm="root:supergroup:rwxr-xr-x",
            proto="webhdfs",
        ),
    ),
    ("2.10.2, a shell", _HEAD + _USUAL + "\tcallerContext=CLI", _line(callerContext="CLI")),
    ("no address", _HEAD + _USUAL.replace("/127.0.0.1", "null"), _line(ip=None)),
    ("the test bed's prefix", "2026-11-28 02:34:57,054 " + _USUAL, _line()),
    (
        "a thread and a place in the source",
        "2026-11-28 02:34:57,054 INFO [IPC Server handler 3] FSNamesystem.audit (FSNamesystem.java:log(9)) - "
        + _USUAL,
        _line(),
    ),
    ("a console's time", "26/11/28 02:34:57 INFO FSNamesystem.audit: " + _USUAL, _line(at=_AT - 54)),
    ("a time with its zone", "2026-11-28T01:34:57.054Z INFO FSNamesystem.audit: " + _USUAL, _line()),
    ("another zone", "2026-11-28T07:04:57.054+0530 " + _USUAL, _line()),
    (
        "within JSON",
        '{"host":"n","message":"' + (_HEAD + _USUAL).replace("\t", "\\t") + '\\n"}',
        _line(),
    ),
    (
        "within JSON, which alone has the time",
        '{"log":"' + _USUAL.replace("\t", "\\t") + '","time":"2026-11-28T01:34:57.054Z"}',
        _line(),
    ),
    ("tabs as rsyslog writes them", _HEAD + _USUAL.replace("\t", "#011"), _line()),
    ("Windows' end of a line", _HEAD + _USUAL + "\r", _line()),
)
