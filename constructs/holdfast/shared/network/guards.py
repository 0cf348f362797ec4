"""How the guards of networks are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.types import FLOW_LOG, GROUP, INGRESS
from holdfast.shared.readings import Protection

OF_RULE = (
    *("CidrIp", "CidrIpv6", "FromPort", "GroupId", "IpProtocol"),
    *("SourcePrefixListId", "SourceSecurityGroupId", "ToPort"),
)
PROTECTIONS = (
    Protection(
        type=GROUP,
        openings=(
            ("SecurityGroupIngress", "the network is opened to"),
            ("SecurityGroupEgress", "the network is opened towards"),
        ),
    ),
    Protection(
        type=INGRESS,
        fixed=tuple((name, "the network is opened to another group or address", "") for name in OF_RULE),
    ),
    Protection(type=FLOW_LOG, protects="flow log"),
)
