"""What operators see of the NameNodes."""

from nncache.daemons.namenodes_view import about_namenode, namenodes_view
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.pool import NameNodePool


def test_each_namenode_address_shows_its_namespace() -> None:
    """Nothing at first."""
    check = NamespaceCheck("nn1:9870", "nn1:8020")
    addresses = {"http": "nn1:9870", "rpc": "nn1:8020"}
    assert about_namenode(NameNode("nn1:9870", "nn1:8020"), check) == addresses | {
        "namespace_over_http": None,
        "namespace_over_rpc": None,
    }
    namespace = Namespace("CID-1", "BP-1")
    check.said_over_http(namespace)
    check.admit(namespace)
    assert about_namenode(NameNode("nn1:9870", "nn1:8020"), check) == addresses | {
        "namespace_over_http": "BP-1 of cluster CID-1",
        "namespace_over_rpc": "BP-1 of cluster CID-1",
    }


def test_each_configured_namenode_is_shown() -> None:
    """Also one that has never answered."""
    settings = NameNodeSettings(namenode_http=("nn1:9870", "nn2:9870"), namenode_rpc=("nn1:8020", "nn2:8020"))
    shown = namenodes_view(NameNodePool(settings, lambda: 0.0))
    assert [(each["http"], each["rpc"], each["state"]) for each in shown] == [
        ("nn1:9870", "nn1:8020", "unreachable"),
        ("nn2:9870", "nn2:8020", "unreachable"),
    ]
