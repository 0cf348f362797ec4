"""What deletes data by itself: sooner than before, or of what was kept."""

from __future__ import annotations

from typing import Any

import pytest
from support import Json

from holdfast.contract.deletes import sooner


def bucket(*rules: Json) -> Json:
    return {"Properties": {"LifecycleConfiguration": {"Rules": list(rules)}}} if rules else {"Properties": {}}


def rule(days: int, **more: Any) -> Json:
    return {"Status": "Enabled", "ExpirationInDays": days, **more}


def plan(**more: Any) -> Json:
    of_rule = {"RuleName": "daily", "Lifecycle": {"DeleteAfterDays": 35}, **more}
    return {"Properties": {"BackupPlan": {"BackupPlanRule": [of_rule]}}}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (bucket(), bucket(rule(30)), ["objects are deleted after 30 days"]),
        (bucket(rule(30)), bucket(rule(30, Prefix="a/")), []),
        (bucket(rule(30)), bucket(rule(29, Prefix="a/")), ["objects in a/ are deleted after 29 days"]),
        (bucket(rule(30, Prefix="a/")), bucket(rule(30)), ["objects are deleted after 30 days"]),
        (bucket(rule(30, Prefix="a/")), bucket(rule(30, Prefix="a/b/")), []),
        (bucket(rule(30)), bucket(rule(31)), []),
        (bucket(), bucket(rule(30, Status="Disabled")), []),
        (bucket(rule(30, Status="Disabled")), bucket(rule(30)), ["objects are deleted after 30 days"]),
        (
            bucket(),
            bucket({"Fn::If": ["On", rule(30), rule(60)]}),
            ["a rule that is decided at deploy time may delete objects"],
        ),
        (plan(), plan(), []),
        (plan(), plan(Lifecycle={"DeleteAfterDays": 34}), ["backups of rule daily are kept for 34 days"]),
        (plan(), plan(Lifecycle={"DeleteAfterDays": 36}), []),
        (
            plan(),
            plan(Lifecycle={"Ref": "Days"}),
            ["how long backups of rule daily are kept is decided at deploy time"],
        ),
        (plan(CopyActions=[{}]), plan(), ["backups of rule daily are no longer copied"]),
        (plan(), plan(RuleName="weekly"), ["backup rule daily is gone"]),
        (plan(), plan(TargetBackupVault="x"), ["backups of rule daily are changed: TargetBackupVault"]),
    ],
)
def test_what_deletes_sooner_is_told(old: Json, new: Json, says: list[str]) -> None:
    assert [said for _, said in sooner(old, new)] == says
