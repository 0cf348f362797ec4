"""How the guards of roles and their policies are read from a template in normal form."""

from __future__ import annotations

from holdfast.cfn.strength import there
from holdfast.cfn.types import POLICY, ROLE
from holdfast.shared.readings import Protection, at

HOLDERS = tuple((name, "the policy is given to") for name in ("Groups", "Roles", "Users"))
PROTECTIONS = (
    Protection(type=ROLE, readings=(at("PermissionsBoundary", there, "permissions boundary"),)),
    Protection(type=POLICY, openings=HOLDERS),
    Protection(type="AWS::IAM::Policy", openings=HOLDERS),
)
