"""How the guards of databases are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import on, one_of, own_key
from holdfast.shared import rds
from holdfast.shared.readings import CMK, Protection, at

INSTANCE, CLUSTER = "AWS::RDS::DBInstance", "AWS::RDS::DBCluster"
PROTECTIONS = (
    Protection(
        type=INSTANCE,
        name="DBInstanceIdentifier",
        readings=(*rds.READINGS, at("MultiAZ", on, "standby in another zone")),
        members=rds.MEMBERS,
        parameter_group="DBParameterGroupName",
    ),
    Protection(
        type=CLUSTER,
        name="DBClusterIdentifier",
        readings=rds.READINGS,
        members=rds.MEMBERS,
        parameter_group="DBClusterParameterGroupName",
    ),
    Protection(type="AWS::RDS::EventSubscription", protects="subscription"),
    Protection(type="AWS::RDS::DBProxy", readings=(at("RequireTLS", on, "encryption in transit"),)),
    Protection(
        type="AWS::RDS::DBParameterGroup",
        readings=(at("Parameters/rds.force_ssl", one_of("1"), "encryption in transit"),),
    ),
    Protection(type="AWS::SecretsManager::Secret", holds=True, readings=(at("KmsKeyId", own_key, CMK),)),
    Protection(
        type="AWS::SecretsManager::ResourcePolicy",
        fixed=(("SecretId", "the policy is no longer on its secret", ""),),
    ),
)
