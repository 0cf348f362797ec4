"""How the guards of databases are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import on, one_of, own_key
from holdfast.kinds.database.types import CLUSTER, IDENTITY, INSTANCE, PARAMETERS, PROXY
from holdfast.model.facts import Guard
from holdfast.shared import rds
from holdfast.shared.readings import Protection, at

PROTECTIONS = (
    Protection(
        type=INSTANCE,
        name=IDENTITY[INSTANCE],
        readings=(*rds.READINGS, at("MultiAZ", on, "standby in another zone")),
        members=rds.MEMBERS,
        parameter_group="DBParameterGroupName",
    ),
    Protection(
        type=CLUSTER,
        name=IDENTITY[CLUSTER],
        readings=rds.READINGS,
        members=rds.MEMBERS,
        parameter_group="DBClusterParameterGroupName",
    ),
    Protection(type="AWS::RDS::EventSubscription", protects="subscription"),
    Protection(type=PROXY, readings=(at("RequireTLS", on, "encryption in transit"),)),
    Protection(
        type=PARAMETERS,
        readings=(at("Parameters/rds.force_ssl", one_of("1"), "encryption in transit"),),
    ),
    Protection(
        type="AWS::SecretsManager::Secret", holds=True, readings=(at("KmsKeyId", own_key, Guard.CUSTOMER_KEY.label),)
    ),
    Protection(
        type="AWS::SecretsManager::ResourcePolicy",
        fixed=(("SecretId", "the policy is no longer on its secret", ""),),
    ),
)
