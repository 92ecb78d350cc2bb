"""The DNS names of entries and APIs."""

import pytest

from nncache.registry.dns_names import container_names_of, label_of, names_of, service_of


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/services/hdfs", ["hdfs.services"]),
        ("/services/nncache/components/proxy-h-1", ["proxy-h-1.components.nncache.services"]),
        ("/net/c2/services/hdfs", ["hdfs.services.c2.net"]),
        ("/users/joe", ["joe.users"]),
        ("/users/joe/hbase/demo1", ["demo1.hbase.joe.users", "demo1.joe"]),
        ("/users/joe/services/hbase/demo1", ["demo1.hbase.services.joe.users", "demo1.joe"]),
        ("/users/joe/hbase/demo1/components/rs1", ["rs1.components.demo1.hbase.joe.users", "rs1.demo1.joe"]),
        ("/users/joe/hbase/demo1/rs1/x", ["x.rs1.demo1.hbase.joe.users"]),
        ("/users/services/hbase/nncache", ["nncache.hbase.services.users"]),
        ("/", []),
        ("/services/HDFS", []),
        ("/services/_tcp", []),
        ("/services/a.b", []),
        (f"/services/{'a' * 64}", []),
    ],
)
def test_a_path_is_read_from_its_end(path: str, names: list[str]) -> None:
    """Users' entries also have Hadoop's short name, unless it equals a system name; no other path has two names."""
    assert [b".".join(name).decode() for name in names_of(path)] == names


def test_a_dot_in_the_name_of_a_user_stays_in_its_label() -> None:
    """Otherwise the user `smith` could have names of the user `john.smith`."""
    assert names_of("/users/john.smith/hbase/demo1") == (
        (b"demo1", b"hbase", b"john.smith", b"users"),
        (b"demo1", b"john.smith"),
    )


@pytest.mark.parametrize(
    ("path", "service"),
    [
        ("/services/nncache/components/proxy-h-1", "/services/nncache"),
        ("/users/joe/hbase/demo1/components/rs1", "/users/joe/hbase/demo1"),
        ("/services/nncache/components", "/services/nncache/components"),
        ("/components/x", "/components/x"),
        ("/services/hdfs", "/services/hdfs"),
        ("/", "/"),
    ],
)
def test_a_component_is_part_of_a_service(path: str, service: str) -> None:
    """Other entries are services themselves."""
    assert service_of(path) == service


@pytest.mark.parametrize(
    ("api", "label"),
    [
        ("org.apache.hadoop.webhdfs", "_webhdfs"),
        ("org.prometheus.metrics", "_prometheus"),
        ("io.nncache.admin", "_nncache-admin"),
        ("http://", "_http"),
        ("http://internal.example.org/restapis/scheduler/20141026v1", "_http"),
        ("https://x", "_https"),
        ("classpath:org.apache.hadoop.yarn.service.appmaster.ipc", "_appmaster-ipc"),
        ("classpath:org.apache.slider.appmaster", "_org-apache-slider-appmaster"),
        ("Org.Apache_HBase/", "_org-apache-hbase"),
        ("a" * 62, "_" + "a" * 62),
        ("a" * 63, None),
        ("///", None),
        ("", None),
    ],
)
def test_an_api_is_a_label(api: str, label: str | None) -> None:
    """The label is in a table, or follows from a rule."""
    assert label_of(api) == label


CONTAINER = "ctr-e01-1454001598828-0001-01-000002"


@pytest.mark.parametrize(
    ("entry", "description", "component", "names"),
    [
        (CONTAINER, "Sleeper-0", "sleeper", ["sleeper-0.sleep1.joe", "sleeper.sleep1.joe", CONTAINER]),
        (CONTAINER, "no name", "", [CONTAINER]),
        ("rs1", "rs1-0", "rs1", ["rs1-0.sleep1.joe", "rs1.sleep1.joe"]),
    ],
)
def test_a_container_has_the_names_of_hadoop(
    entry: str, description: str, component: str, names: list[str]
) -> None:
    """YARN-5218: names of its instance, of its component, and its id; a part that is no valid label has none."""
    path = f"/users/joe/services/yarn-service/sleep1/components/{entry}"
    assert [b".".join(each).decode() for each in container_names_of(path, description, component)] == names


@pytest.mark.parametrize(
    "path", ["/services/hdfs", "/users/joe/hbase/demo1", "/services/nncache/components/p"]
)
def test_what_is_no_container_of_a_user_has_none_of_them(path: str) -> None:
    """Only a component of a user's service is a container."""
    assert container_names_of(path, "instance", "component") == ()
