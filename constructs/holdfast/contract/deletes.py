"""What deletes data by itself, and when: time to live of items, expiry of objects, of backups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.cfn.policies import is_function
from holdfast.cfn.tree import items, read

Json = dict[str, Any]
FOREVER = float("inf")
TTL = ("Properties", "TimeToLiveSpecification")
OBJECTS = ("Properties", "LifecycleConfiguration")
BACKUPS = ("Properties", "BackupPlan")
# Of a rule of a backup plan: when backups are made, and where they go.
OF_RULE = ("EnableContinuousBackup", "ScheduleExpression", "ScheduleExpressionTimezone", "TargetBackupVault")


def sooner(old: Json, new: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where ``new`` deletes what ``old`` kept, or deletes it sooner: the path, and in words."""
    before, after = expiry(old), expiry(new)
    if before is None and after is not None:
        yield TTL, f"TTL is added: items are deleted by {after}"
    elif before != after:
        yield TTL, f"TTL by {before} is removed" if after is None else f"TTL moves from {before} to {after}"
    yield from _objects(old, new)
    yield from _backups(old, new)


def expiry(resource: Any) -> str | None:
    """The attribute by which a table deletes its items; None where it deletes none."""
    found = read(resource, TTL)
    return str(found.get("AttributeName")) if isinstance(found, dict) and found.get("Enabled") is not False else None


def _objects(old: Json, new: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    """A rule of a bucket that deletes earlier than any rule did that was about the same objects."""
    were, are = items(read(old, (*OBJECTS, "Rules"))), items(read(new, (*OBJECTS, "Rules")))
    if is_function(now := read(new, OBJECTS)) and now != read(old, OBJECTS):
        are = [now]
    was = [found for rule in were if read(rule, ("Status",)) == "Enabled" for found in _expiries(rule, FOREVER)]
    for rule in are:
        if rule in were or read(rule, ("Status",)) == "Disabled":
            continue
        if is_function(rule):
            yield OBJECTS, "a rule that is decided at deploy time may delete objects"
            continue
        for what, prefix, filters, days in _expiries(rule, 0.0):
            alike = [d for w, p, f, d in was if w == what and prefix.startswith(p) and f in ("", filters)]
            if days < min(alike, default=FOREVER):
                about = f" in {prefix}" if prefix else ""
                yield OBJECTS, f"{what}{about} are deleted after {days:g} days"


def _expiries(rule: Any, unknown: float) -> Iterator[tuple[str, str, str, float]]:
    """What a rule deletes and when, in today's spelling and in the former one."""
    if not isinstance(rule, dict):
        return
    prefix = str(rule.get("Prefix") or read(rule, ("Filter", "Prefix")) or "")
    filters = "".join(f"{k}={rule[k]}" for k in ("TagFilters", "ObjectSizeGreaterThan", "Filter") if rule.get(k))
    versions = read(rule, ("NoncurrentVersionExpiration", "NoncurrentDays"))
    if is_function(rule.get("NoncurrentVersionExpiration")):
        versions = {}
    for what, days in (
        ("objects", rule.get("ExpirationInDays")),
        ("objects", None if "ExpirationDate" not in rule else 0),
        ("old versions", versions),
        ("old versions", rule.get("NoncurrentVersionExpirationInDays")),
    ):
        if days is not None:
            yield what, prefix, filters, _days(days, unknown)


def _backups(old: Json, new: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    after = {str(r.get("RuleName")): r for r in _plan(new)}
    for rule in _plan(old):
        name = str(rule.get("RuleName"))
        if name not in after:
            yield BACKUPS, f"backup rule {name} is gone"
            continue
        was, is_ = _kept(rule, FOREVER), _kept(after[name], 0.0)
        if is_ < was and rule.get("Lifecycle") != after[name].get("Lifecycle"):
            if is_function(after[name].get("Lifecycle")):
                yield BACKUPS, f"how long backups of rule {name} are kept is decided at deploy time"
            else:
                yield BACKUPS, f"backups of rule {name} are kept for {is_:g} days"
        copies = len(items(rule.get("CopyActions"))) - len(items(after[name].get("CopyActions")))
        if copies > 0:
            yield BACKUPS, f"backups of rule {name} are no longer copied"
        if other := [k for k in OF_RULE if rule.get(k) != after[name].get(k)]:
            yield BACKUPS, f"backups of rule {name} are changed: {', '.join(other)}"


def _plan(resource: Json) -> list[Json]:
    return [r for r in items(read(resource, (*BACKUPS, "BackupPlanRule"))) if isinstance(r, dict)]


def _kept(rule: Json, unknown: float) -> float:
    found = read(rule, ("Lifecycle", "DeleteAfterDays"))
    return unknown if is_function(rule.get("Lifecycle")) else FOREVER if found is None else _days(found, unknown)


def _days(value: Any, unknown: float) -> float:
    """What a deploy decides may be at once, and may have been never."""
    return float(value) if isinstance(value, int | float) else unknown
