"""How the guards of document databases are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import one_of
from holdfast.kinds.documents.types import DOCUMENTS, IDENTITY, PARAMETERS
from holdfast.shared import rds
from holdfast.shared.readings import Protection, at

PROTECTIONS = (
    Protection(
        type=DOCUMENTS,
        name=IDENTITY[DOCUMENTS],
        readings=rds.READINGS,
        members=rds.MEMBERS,
        parameter_group="DBClusterParameterGroupName",
    ),
    Protection(type="AWS::DocDB::EventSubscription", protects="subscription"),
    Protection(
        type=PARAMETERS,
        readings=(
            at("Parameters/tls", one_of("enabled", "tls1.2+", "tls1.3+", "fips-140-3"), "encryption in transit"),
            at("Parameters/audit_logs", lambda v: float(v not in (None, "disabled", "none")), "audit log"),
        ),
    ),
)
