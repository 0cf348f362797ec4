"""How the guards of networks are read from a template in normal form."""

from __future__ import annotations

from holdfast.shared.readings import Protection

OF_RULE = (
    *("CidrIp", "CidrIpv6", "FromPort", "GroupId", "IpProtocol"),
    *("SourcePrefixListId", "SourceSecurityGroupId", "ToPort"),
)
PROTECTIONS = (
    Protection(
        type="AWS::EC2::SecurityGroup",
        openings=(
            ("SecurityGroupIngress", "the network is opened to"),
            ("SecurityGroupEgress", "the network is opened towards"),
        ),
    ),
    Protection(
        type="AWS::EC2::SecurityGroupIngress",
        fixed=tuple((name, "the network is opened to another group or address", "") for name in OF_RULE),
    ),
    Protection(type="AWS::EC2::FlowLog", protects="flow log"),
)
