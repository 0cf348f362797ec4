"""Logs are written, and kept for as long as the policy says."""

from __future__ import annotations

from holdfast.cfn.places import at
from holdfast.kinds.base import StoreSubject
from holdfast.kinds.kinds import asked, read
from holdfast.rules.base import Check, Rule, Severity
from holdfast.rules.resources import ends
from holdfast.rules.subjects import Resource
from holdfast.shared.account import Aspect

LOGGED = Rule(
    id="HF519",
    title="Stores write their logs",
    why="What was asked of a database, and who was refused, is only known afterwards if it was written elsewhere.",
    remediation="Restore the exported logs of {table}; the construct names the groups.",
    severity=Severity.MEDIUM,
    paths=read(lambda n: n.logs),
    controls=("SecurityHub RDS.36", "SecurityHub RDS.37", "SecurityHub DocumentDB.4", "SecurityHub S3.9", "PCI 10.2.1"),
    aspects=frozenset({Aspect.OWN, Aspect.LOGGING}),
    checks=(Check(StoreSubject, asked(lambda n: n.logs)),),
)
LOGS_KEPT = Rule(
    id="HF529",
    title="Log groups have a retention period",
    why="A log that goes elsewhere, or is gone after a day, answers no question about the day before. A log group without a retention "
    "period keeps personal data for ever, and is paid for for ever.",
    remediation="Restore the log groups of {stack}, their RetentionInDays, and the bucket for access logs; the constructs make them.",
    severity=Severity.MEDIUM,
    paths=at("AWS::Logs::LogGroup", "Type", "DeletionPolicy", "LogGroupName", "RetentionInDays", "UpdateReplacePolicy"),
    controls=("SecurityHub CloudWatch.16", "PCI 10.5.1"),
    only_deployed="log groups are not read: whether logs are written at all is judged live",
    checks=(Check(StoreSubject, asked(lambda n: n.logs_kept)), Check(Resource, ends, ("AWS::Logs::LogGroup",))),
)
RULES = (
    LOGGED,
    LOGS_KEPT,
)
