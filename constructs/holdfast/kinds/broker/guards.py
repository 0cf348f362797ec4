"""How the guards of brokers are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import not_off, off, on, one_of
from holdfast.kinds.broker.types import BROKER, IDENTITY, TOPIC
from holdfast.shared.readings import Protection, at, customer_key

PROTECTIONS = (
    Protection(
        type=BROKER,
        name=IDENTITY[BROKER],
        readings=(
            customer_key("EncryptionInfo/EncryptionAtRest/DataVolumeKMSKeyId"),
            at(
                "EncryptionInfo/EncryptionInTransit/ClientBroker",
                one_of("TLS_PLAINTEXT", "TLS"),
                "encryption in transit",
            ),
            at("EncryptionInfo/EncryptionInTransit/InCluster", not_off, "encryption between brokers"),
            at("ClientAuthentication/Sasl/Iam/Enabled", on, "IAM log-in"),
            at("ClientAuthentication/Unauthenticated/Enabled", off, "log-in"),
            at("BrokerNodeGroupInfo/ConnectivityInfo/PublicAccess/Type", one_of("DISABLED"), "private access"),
        ),
    ),
    Protection(type=TOPIC, holds=True),
)
