"""The settings of the figures by tenant."""

from dataclasses import dataclass, field
from typing import Final, Literal

from nncache.net.setting_error import SettingError

TenantKind = Literal["none", "user", "address"]

MAX_SHOWN: Final = 200
MAX_PREFIX_BITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSettings:
    """Whether and how requests are counted by tenant. Raises SettingError if a value is out of range."""

    tenants_by: TenantKind = field(
        default="none",
        metadata={
            "help": "Whether /metrics counts requests, hits and calls by user or network. Any client may read "
            "/metrics."
        },
    )
    tenants_shown: int = field(
        default=20,
        metadata={
            "help": "Tenants with series of their own; the others are counted as `(other)`. At most one a minute is "
            "replaced."
        },
    )
    tenants_prefix_bits: int = field(
        default=24,
        metadata={"help": "Leading bits of an IPv4 address that identify a network; of an IPv6 address, 64."},
    )

    def __post_init__(self) -> None:
        if not 1 <= self.tenants_shown <= MAX_SHOWN:
            raise SettingError("tenants_shown", self.tenants_shown, f"must be from 1 to {MAX_SHOWN}")
        if not 1 <= self.tenants_prefix_bits <= MAX_PREFIX_BITS:
            raise SettingError(
                "tenants_prefix_bits", self.tenants_prefix_bits, f"must be from 1 to {MAX_PREFIX_BITS}"
            )
