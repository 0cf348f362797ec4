"""What AWS calls things in each region: the partition in ARNs, the end of domain names, S3's own addresses. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

# How the regions of a partition begin: its name in ARNs, and what its domain names end with.
PARTITIONS = {
    "cn-": ("aws-cn", "amazonaws.com.cn"),
    "eu-isoe-": ("aws-iso-e", "cloud.adc-e.uk"),
    "eusc-": ("aws-eusc", "amazonaws.eu"),
    "us-gov-": ("aws-us-gov", "amazonaws.com"),
    "us-iso-": ("aws-iso", "c2s.ic.gov"),
    "us-isob-": ("aws-iso-b", "sc2s.sgov.gov"),
    "us-isof-": ("aws-iso-f", "csp.hci.ic.gov"),
}
USUAL = ("aws", "amazonaws.com")
# AWS's own lists of S3's addresses, which a template cannot ask for and a synth must not look up. A region that is not
# here is declared: `aws ec2 describe-prefix-lists` tells its list.
S3_PREFIX_LISTS: Mapping[str, str] = {
    "ap-northeast-1": "pl-61a54008",
    "ap-northeast-2": "pl-78a54011",
    "ap-south-1": "pl-78a54011",
    "ap-southeast-1": "pl-6fa54006",
    "ap-southeast-2": "pl-6ca54005",
    "ca-central-1": "pl-7da54014",
    "eu-central-1": "pl-6ea54007",
    "eu-north-1": "pl-c3aa4faa",
    "eu-west-1": "pl-6da54004",
    "eu-west-2": "pl-7ca54015",
    "eu-west-3": "pl-23ad484a",
    "sa-east-1": "pl-6aa54003",
    "us-east-1": "pl-63a5400a",
    "us-east-2": "pl-7ba54012",
    "us-west-1": "pl-6ba54002",
    "us-west-2": "pl-68a54001",
}


# Those that an account need not opt into.
ALWAYS_ON = (
    *sorted([*S3_PREFIX_LISTS, "ap-northeast-3"]),
    *("cn-north-1", "cn-northwest-1", "us-gov-east-1", "us-gov-west-1"),
)


def others(regions: Collection[str]) -> tuple[str, ...]:
    """The regions that every account of their partitions has beside them."""
    partitions = set(map(partition, regions))
    return tuple(r for r in ALWAYS_ON if r not in regions and partition(r) in partitions)


def partition(region: str | None) -> str:
    """``aws``, or the partition that a region begins the name of; an unknown region is one of ``aws``."""
    return _named(region)[0]


def suffix(region: str | None) -> str:
    """What domain names of a region end with, and names of services that are called by region."""
    return _named(region)[1]


def via(region: str, *services: str) -> str | list[str]:
    """How kms:ViaService names services. Where domain names differ, by both ends: AWS documents only the usual one."""
    ends = dict.fromkeys((USUAL[1], suffix(region)))
    names = [f"{service}.{region}.{end}" for service in services for end in ends]
    return names if len(names) > 1 else names[0]


def _named(region: str | None) -> tuple[str, str]:
    return next((names for start, names in PARTITIONS.items() if (region or "").startswith(start)), USUAL)
