"""What a cluster is unless told otherwise."""

import getpass

from nncache.testbed.spec import GROUPS_OF_USERS, ClusterSpec


def test_the_servers_run_as_the_user_of_the_operating_system() -> None:
    """The proxy acts as that user by default, and needs a superuser."""
    assert ClusterSpec().superuser == getpass.getuser()


def test_there_are_users_who_share_a_group_and_one_who_does_not() -> None:
    """Otherwise no test could tell the group's rights from the others' rights."""
    assert set(GROUPS_OF_USERS["alice"]) & set(GROUPS_OF_USERS["bob"]) == {"users"}
    assert not set(GROUPS_OF_USERS["carol"]) & (set(GROUPS_OF_USERS["alice"]) | set(GROUPS_OF_USERS["bob"]))


def test_no_user_is_a_superuser_by_group() -> None:
    """A superuser sees everything and proves nothing."""
    assert all("supergroup" not in groups for groups in GROUPS_OF_USERS.values())
