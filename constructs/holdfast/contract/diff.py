"""Two states of the same contracts: what is weakened, removed, replaced, added or changed, worst first. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from typing import Any

from holdfast.cfn.compare import ABSENT, Difference, differences, same, value_at
from holdfast.cfn.facts import facts
from holdfast.cfn.tree import items, read
from holdfast.cfn.types import ALARM, KEY, TOPIC
from holdfast.contract import conditional, guards, pairing, policies
from holdfast.contract.guards import (
    environment,
    losses,
    physical_name,
    retained,
    store_name,
    type_of,
    untouchable,
)
from holdfast.contract.pairing import Place, body, flat, referring, renames, resources
from holdfast.contract.reach import OF_STORE, about, mentioned, reach, store_names
from holdfast.contract.tags import as_used, production
from holdfast.contract.tags import names as tag_names
from holdfast.contract.waived import excuses

__all__ = ["SERIOUS", "Change", "Kind", "diff", "referring", "renames"]
Json = dict[str, Any]
Path = tuple[str, ...]


class Kind(Enum):
    """What a change means for the data, worst first."""

    WEAKENED = "weakened"
    REMOVED = "removed"
    REPLACED = "replaced"
    ADDED = "added"
    CHANGED = "changed"


CONDITIONS = 20  # of one resource that are looked at one by one; in doubt more of them weaken it
SERIOUS = frozenset({Kind.WEAKENED, Kind.REMOVED, Kind.REPLACED})
# Properties that the schema says may replace a database, and that RDS changes in place on a single instance.
IN_PLACE = frozenset(
    {
        *("AutoMinorVersionUpgrade", "BackupRetentionPeriod", "DBParameterGroupName", "MultiAZ", "Port"),
        *("PerformanceInsightsKMSKeyId", "PreferredMaintenanceWindow", "StorageType"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of one resource, or of a stack where ``resource`` is empty."""

    kind: Kind
    stack: str
    resource: str = ""
    store: str | None = None
    path: Path = ()
    before: Any = ABSENT
    after: Any = ABSENT
    says: str = ""
    type: str = ""  # of the resource
    environment: str = ""
    guard: str = ""  # the short name of the guard that is lost, or the fact that is lowered
    reaches: bool = False  # can reach, copy, trigger on or delete a store
    approvable: bool = True
    whole: tuple[Any, Any] = (ABSENT, ABSENT)  # the resource on both sides, where no path says what differs

    @property
    def gone(self) -> bool:
        """Whether a resource, or a stack, is not there any more."""
        return self.whole[0] is not ABSENT and self.whole[1] is ABSENT


def diff(base: Mapping[str, Json], head: Mapping[str, Json]) -> list[Change]:
    """Every change from ``base`` to ``head``, contracts by stack id."""
    base, head = flat(base), flat(head)
    ids = pairing.followed(base, head)
    called = [_called(old, new, head[new]) for old, new in ids.items()]
    base = pairing.under(base, ids)
    differ = [i for i in sorted(base.keys() | head.keys()) if not same(base.get(i), head.get(i))]
    base, head = ({i: contracts[i] for i in differ if i in contracts} for contracts in (base, head))
    pairs = {i: renames(body(base[i]), body(head[i])) for i in differ if i in base and i in head}
    moves = pairing.moves(base, head, pairs)
    came: dict[Place, list[Place]] = defaultdict(list)
    for old, places in moves.items():
        for place in places:
            came[place].append(old)
    stacks = [_Stack(i, base, head, pairs.get(i, {}), moves, came) for i in differ]
    found = [*called, *(change for stack in stacks for change in stack.changes())]
    order = list(Kind)
    return sorted(
        _keeping_every_guard(found, {place for stack in stacks for place in stack.fixed}),
        key=lambda c: (order.index(c.kind), not c.reaches, c.stack, c.store or c.resource, c.resource, c.path),
    )


def _called(old: str, new: str, contract: Json) -> Change:
    says = "its contract has another name; it is the same stack of CloudFormation"
    of, path = environment(contract), ("stack", "id")
    return Change(kind=Kind.CHANGED, stack=new, environment=of, path=path, before=old, after=new, says=says)


def _keeping_every_guard(changes: list[Change], fixed: set[tuple[str, str | None]]) -> Iterator[Change]:
    """Of personal durable data in production a fact can be lowered only where every guard stays."""
    losing = {(c.stack, c.store) for c in changes if c.kind is Kind.WEAKENED and c.guard not in guards.FACTS | {"TTL"}}
    for c in changes:
        lowered = c.kind is Kind.WEAKENED and c.guard in guards.FACTS
        yield replace(c, approvable=False) if lowered and (c.stack, c.store) in losing & fixed else c


class _Stack:
    """One stack on both sides; what is not in both is told at once."""

    def __init__(
        self,
        id_: str,
        base: Mapping[str, Json],
        head: Mapping[str, Json],
        pairs: Mapping[str, str],
        moves: Mapping[Place, list[Place]],
        came: Mapping[Place, list[Place]],
    ) -> None:
        self.id, self.base, self.head, self.pairs = id_, base.get(id_), head.get(id_), pairs
        self.bases, self.heads, self.moves = base, head, moves
        self.came = came
        self.fixed: set[tuple[str, str | None]] = set()  # stores of personal durable data in production
        self.environment = environment(self.base or self.head or {"stack": {}})

    @cached_property
    def names(self) -> dict[str, str]:
        """Every store of the stack on either side, by whatever names it."""
        found: dict[str, str] = {}
        for contract in (self.head, self.base):
            found |= store_names(body(contract)) if contract else {}
        return found

    @cached_property
    def keys(self) -> set[str]:
        """The keys, by logical id, that encrypt personal durable data in production."""
        ours = resources(self.base) if self.base else {}
        names = {k: k for k, r in ours.items() if type_of(r) == KEY}
        stores = [r for r in ours.values() if names and store_name(r) is not None and untouchable(self.base or {}, r)]
        return {k for r in stores for k in mentioned(r, names)}

    @cached_property
    def left(self) -> dict[str, str]:
        """The stores that are still there."""
        return store_names(resources(self.head)) if self.head else {}

    def changes(self) -> Iterator[Change]:
        """Each at the place where the file has it."""
        used = tag_names(self.head or self.base or {})
        return (replace(c, path=as_used(c.path, used)) for c in self._changes()) if used else self._changes()

    def _changes(self) -> Iterator[Change]:
        if self.base is None:
            yield self._change(Kind.ADDED, says="the stack is new")
            yield from self._waived({}, self.head or {})
            for logical_id, resource in self._resources(self.head):
                yield from self._new(logical_id, resource, listed=False)
        elif self.head is None:
            yield from self._left()
        else:
            now = {old: new for new, old in self.pairs.items()}
            yield from (replace(c, resource=now.get(c.resource, c.resource)) for c in self._both(self.base, self.head))

    def _change(self, kind: Kind, **more: Any) -> Change:
        return Change(kind=kind, stack=self.id, environment=self.environment, **more)

    def _resources(self, contract: Json | None) -> list[tuple[str, Json]]:
        return sorted(resources(contract).items()) if contract else []

    # A stack that left

    def _left(self) -> Iterator[Change]:
        assert self.base
        stores = [(k, r) for k, r in self._resources(self.base) if store_name(r) is not None]
        kept = f", and with it {', '.join(store_name(r) or k for k, r in stores)}" if stores else ""
        fine = all(retained(r) for _, r in stores if untouchable(self.base, r))
        yield self._change(
            Kind.REMOVED, says=f"the stack is gone{kept}", approvable=fine, whole=(self.base["stack"], ABSENT)
        )
        for logical_id, resource in stores:
            yield self._gone_store(logical_id, resource)

    # A stack on both sides

    def _both(self, base: Json, head: Json) -> Iterator[Change]:
        for new, old in sorted(self.pairs.items()):
            yield self._renamed(old, new, resources(base)[old])
        known = base.keys() | head.keys() if base.get("version") else base.keys()  # an old snapshot says less
        for section in sorted(known - {"template", "version", "of", "waived"}):
            before, after = base.get(section, ABSENT), head.get(section, ABSENT)
            if section == "code" and isinstance(after, dict):
                after = {self.pairs.get(k, k): v for k, v in after.items()}
            for d in differences(before, after, (section,)):
                if base.get("version") or d.before is not ABSENT:
                    yield self._of_stack(d)
        yield from self._waived(base, head)
        template = pairing.template(head["template"], self.pairs)
        yield from self._all(body(base), body({"template": template}))
        before, after = (
            {k: v for k, v in t.items() if k != "Resources" or not isinstance(v, dict)}
            for t in (base["template"], template)
        )
        lost = set(production(base)) - set(production(head))
        for d in differences(before, after, ("template",)):
            if lost and d.path[1:2] == ("Metadata",):
                yield self._differs(Kind.WEAKENED, d, says="production environment is lost")
            else:
                yield self._differs(Kind.CHANGED, d)
        anew = conditional.redefined(base["template"], template)
        were, are = (resources({"template": t}) if anew else {} for t in (base["template"], template))
        for logical_id in sorted(were.keys() & are.keys()):
            both = were[logical_id], are[logical_id]
            yield from self._decided(logical_id, *both, anew, (base["template"], template))

    def _decided(
        self, logical_id: str, old: Json, new: Json, anew: Mapping[str, Path], templates: tuple[Json, Json]
    ) -> Iterator[Change]:
        """What conditions decide of a resource, and whether it is there, where they are defined otherwise."""
        store, fixed = _store(logical_id, old) or about(old, self.names), self._is_fixed(logical_id, old)
        protects = type_of(old) in guards.PROTECTORS or _kept(old)

        def here(name: str, **more: Any) -> Change:
            before, after = (read(t, anew[name]) for t in templates)
            told = self._of(Kind.CHANGED, logical_id, old, store=store, path=("template", *anew[name]))
            return told(before=before, after=after, **{**more, "says": f"the condition {name} decides {more['says']}"})

        on = str(old.get("Condition"))  # anything may stand there in a template
        if on in anew and on == new.get("Condition"):
            kind, short = Kind.WEAKENED if protects else Kind.CHANGED, guards.PROTECTORS.get(type_of(old), "")
            yield here(on, kind=kind, says="whether it is there", guard=short, approvable=retained(old) or not fixed)
        names = sorted(anew.keys() & conditional.choosing(old) & conditional.choosing(new))
        for name in names:
            if len(names) > CONDITIONS:
                yield here(name, kind=Kind.WEAKENED if protects else Kind.CHANGED, says="a part of it")
                continue
            lost = list(conditional.at_stake(new, name))
            for loss in lost:
                fine = not (fixed and loss.short in guards.UNTOUCHABLE)
                yield here(name, kind=Kind.WEAKENED, says=f"whether {loss.says}", guard=loss.short, approvable=fine)
            if not lost:
                yield here(name, says="a part of it")

    def _waived(self, base: Json, head: Json) -> Iterator[Change]:
        for e in excuses(base.get("waived", {}), head.get("waived", {})):
            kind, path = Kind.WEAKENED if e.weaker else Kind.CHANGED, ("waived", e.store, e.rule)
            yield self._change(kind, store=e.store, path=path, before=e.before, after=e.after, says=e.says)

    def _differs(self, kind: Kind, d: Difference, **more: Any) -> Change:
        return self._change(kind, path=d.path, before=d.before, after=d.after, **more)

    def _of_stack(self, d: Difference) -> Change:
        if d.path[:2] == ("stack", "terminationProtection") and d.before is True:
            return self._differs(Kind.WEAKENED, d, says="termination protection is lost")
        words = production(self.base or {})
        if d.path == ("stack", "tags", "Environment") and d.before in words and d.after not in words:
            return self._differs(Kind.WEAKENED, d, says="production environment is lost")
        if d.path[:2] in (("stack", "name"), ("stack", "environment")):
            says = "CloudFormation makes another stack, and the old one stays as it is"
            return self._differs(Kind.REPLACED, d, says=says)
        if d.path[0] == "code" and len(d.path) > 1:
            return self._differs(Kind.CHANGED, d, resource=d.path[1], says="its code changes")
        if d.path[0] == "acknowledged" and d.after is not ABSENT:
            return self._differs(Kind.CHANGED, d, says="findings of cdk-nag are acknowledged")
        return self._differs(Kind.CHANGED, d)

    def _all(self, base: Json, head: Json) -> Iterator[Change]:
        for logical_id in sorted(base.keys() | head.keys()):
            old, new = base.get(logical_id), head.get(logical_id)
            if same(old, new):
                continue
            if not isinstance(old, dict | None) or not isinstance(new, dict | None):
                here = ("template", "Resources", logical_id)
                yield self._change(Kind.CHANGED, resource=logical_id, path=here, before=old, after=new)
            elif old is None:
                yield from self._new(logical_id, new or {}, listed=True)
            elif new is None:
                yield self._gone(logical_id, old, head)
            else:
                yield from self._resource(logical_id, old, new)
                for place in self.came.get((self.id, logical_id), ()):
                    yield from self._arrived(logical_id, new, *place)

    # Resources that came

    def _new(self, logical_id: str, new: Json, *, listed: bool) -> Iterator[Change]:
        """A new resource; of a new stack only what holds data or reaches it is told by itself."""
        if places := self.came.get((self.id, logical_id)):
            for place in places:
                yield from self._arrived(logical_id, new, *place)  # told as the store that left
            return
        can = reach(new, self.names)
        if listed or can or store_name(new) is not None:
            store = _store(logical_id, new) or about(new, self.names)
            here = self._of(Kind.ADDED, logical_id, new, store=store, reaches=bool(can))
            yield here(says=f"new {new.get('Type')}{f': {can}' if can else ''}")

    def _arrived(self, logical_id: str, new: Json, stack: str, old_id: str) -> Iterator[Change]:
        """A store that was elsewhere: what it lost on its way."""
        old, name = resources(self.bases[stack])[old_id], _store(logical_id, new)
        for c in self._resource(logical_id, old, new, self.bases[stack]):
            if c.kind is Kind.WEAKENED:
                yield replace(c, store=name)
        were, are = _alarms(self.bases[stack], _store(old_id, old)), _alarms(self.head, name)
        if are < were:
            told = self._of(Kind.WEAKENED, logical_id, new, store=name, guard="alarm", whole=(were, are))
            yield told(says=f"{were - are} of {were} alarms are lost on its way")

    # Resources that left

    def _gone(self, logical_id: str, old: Json, head: Json) -> Change:
        if store_name(old) is not None:
            return self._gone_store(logical_id, old)
        kind = type_of(old)
        store = about(old, self.names)
        here = self._of(Kind.CHANGED, logical_id, old, store=store, whole=(old, ABSENT))
        if kind in guards.PROTECTORS:
            if why := self._gone_with(old, store, head):
                return here(says=f"{kind} is gone, with {why}")
            return here(kind=Kind.WEAKENED, guard=guards.PROTECTORS[kind], says=f"{kind} is gone")
        if policies.denies(old):
            return here(kind=Kind.WEAKENED, says=f"{kind}, which denies, is gone")
        if guards.holds(old):
            fine = retained(old) or logical_id not in self.keys
            return here(kind=Kind.REMOVED, says=f"{kind} is gone: {_fate(old)}", approvable=fine)
        return here(says=f"{kind} is gone")

    def _gone_with(self, old: Json, store: str | None, head: Json) -> str:
        """What an alarm went with: its store, or the index that it watched."""
        watched = mentioned(old, self.names)
        left = {_store(k, r) for k, r in head.items() if store_name(r) is not None}
        if watched and not watched & left:
            return "its store"
        if store is None or old.get("Type") != ALARM or self.base is None:
            return ""
        base = resources(self.base)
        before, after = (
            {i for k, r in of.items() if _store(k, r) == store for i in _indexes(r)} for of in (base, head)
        )
        return "its index" if mentioned(old, {i: i for i in before - after}) else ""

    def _gone_store(self, logical_id: str, old: Json) -> Change:
        assert self.base
        says = f"{old.get('Type')} is gone: {_fate(old)}"
        if to := self.moves.get((self.id, logical_id)):
            says = self._moves(old, to)
        fine = retained(old) or not untouchable(self.base, old)
        return self._of(Kind.REMOVED, logical_id, old, store=_store(logical_id, old))(
            says=says, approvable=fine, whole=(old, ABSENT)
        )

    def _moves(self, old: Json, to: list[Place]) -> str:
        stack, new_id = to[0]
        new = resources(self.heads[stack])[new_id]
        there = "" if stack == self.id else f" in {stack}"
        if (name := physical_name(old)) is None or name != physical_name(new):
            name = _store(new_id, new)
            return f"it becomes {name}{there}, which has the same key and indexes and is empty: {_fate(old)}"
        where = ", ".join(dict.fromkeys(place[0] for place in to))
        how = f"it moves to {where}" if stack != self.id else f"it becomes {type_of(new)} {new_id}"
        if retained(old):
            return f"{how}: its data stays, and that stack has to import it"
        return f"{how}: it is deleted here with its data, and made anew there"

    # Resources on both sides

    def _renamed(self, old: str, new: str, resource: Json) -> Change:
        kind = resource.get("Type")
        says = f"its logical id changes from {old} to {new}: CloudFormation makes a new {kind}"
        holds = guards.holds(resource)
        store = store_name(resource) is not None and self.base is not None and untouchable(self.base, resource)
        fine = retained(resource) or not (store or old in self.keys)
        return self._of(Kind.REPLACED if holds else Kind.CHANGED, new, resource, store=_store(old, resource))(
            before=old, after=new, says=f"{says}; {_fate(resource)}" if holds else says, approvable=fine
        )

    def _is_fixed(self, logical_id: str, old: Json, base: Json | None = None) -> bool:
        """Whether it holds, or encrypts, personal durable data in production."""
        return logical_id in self.keys or (store_name(old) is not None and untouchable(base or self.base or {}, old))

    def _resource(self, logical_id: str, old: Json, new: Json, base: Json | None = None) -> Iterator[Change]:
        """``base`` is the contract that ``old`` is of, where it is not this stack's."""
        kind = type_of(old)
        fixed = self._is_fixed(logical_id, old, base)
        here = self._of(Kind.CHANGED, logical_id, old, store=_store(logical_id, old) or about(old, self.names))
        if kind != new.get("Type"):
            says = f"{kind} becomes {new.get('Type')}: another resource takes its place; {_fate(old)}"
            serious = Kind.REPLACED if guards.holds(old) else Kind.CHANGED
            fine = retained(old) or not fixed
            yield here(kind=serious, path=("Type",), before=kind, after=new.get("Type"), says=says, approvable=fine)
        if fixed and store_name(old) is not None:
            self.fixed.add((self.id, _store(logical_id, new if base else old)))
        told: list[Path] = []
        watched = about(old, self.left) if kind == ALARM else None
        elsewhere = watched is not None and watched not in mentioned(new, self.left)
        for loss in losses(old, new, production(base or self.base or {})):
            of_metric = kind == ALARM and loss.path[-1] in ("Dimensions", "Metrics")
            if of_metric and (elsewhere or self._follows(old)):
                continue
            told.append(loss.path)
            if not loss.says:
                continue
            fine = not (fixed and loss.short in guards.UNTOUCHABLE)
            fact = next((f for f in guards.FACTS if loss.says.startswith(f)), "")
            yield here(
                kind=Kind.WEAKENED,
                path=loss.path,
                before=loss.before,
                after=loss.after,
                says=loss.says,
                guard=fact or loss.short,
                approvable=fine,
            )
        if new.get("Condition") not in (None, old.get("Condition")) and (kind in guards.PROTECTORS or _kept(old)):
            told.append(("Condition",))
            yield here(
                kind=Kind.WEAKENED,
                path=("Condition",),
                before=value_at(old, ("Condition",)),
                after=new["Condition"],
                says="it may be left out at deploy time",
                guard=guards.PROTECTORS.get(kind, ""),
                approvable=retained(old) or not fixed,
            )
        for path, says in policies.looser(old, new):
            told.append(path)
            yield here(kind=Kind.WEAKENED, path=path, before=value_at(old, path), after=value_at(new, path), says=says)
        if elsewhere:
            says = f"the alarm no longer watches {watched}"
            yield here(kind=Kind.WEAKENED, guard="alarm", says=says, whole=(old, new))
        for d in differences(old, new):
            said = any(d.path[: len(p)] == p or p[: len(d.path)] == d.path for p in told)
            if d.path == ("Type",) or (said and not (guards.holds(old) and _remade(kind, d.path))):
                continue
            yield self._other(here, old, d, fine=retained(old) or not fixed)

    def _follows(self, alarm: Json) -> bool:
        """Whether an alarm watches something else because its store is not there any more."""
        watched = mentioned(alarm, self.names)
        return bool(watched) and not watched & set(self.left.values())

    def _other(self, here: partial[Change], old: Json, d: Difference, *, fine: bool) -> Change:
        told = partial(here, path=d.path, before=d.before, after=d.after)
        says = _remade(type_of(old), d.path)
        if says and guards.holds(old):
            return told(kind=Kind.REPLACED, says=f"{says}; {_fate(old)}", approvable=fine)
        if not says and store_name(old) is not None and d.path[1:2] and (carries := OF_STORE.get(d.path[1])):
            return told(says=carries, reaches=d.before is ABSENT)
        return told(says=says)

    def _of(self, kind: Kind, logical_id: str, resource: Json, **more: Any) -> partial[Change]:
        of = {"stack": self.id, "environment": self.environment, "resource": logical_id, "type": type_of(resource)}
        return partial(Change, **{"kind": kind, **of, **more})


def _store(logical_id: str, resource: Any) -> str | None:
    """What a store is called: its name, or its logical id where CloudFormation names it."""
    name = store_name(resource)
    return None if name is None else name or logical_id


def _kept(resource: Json) -> bool:
    """Whether something is lost where it is left out."""
    return guards.holds(resource) or policies.denies(resource)


def _fate(old: Json) -> str:
    """What happens to the data of something that leaves its stack or is made anew."""
    if old.get("Type") == KEY:
        return (
            "the old one stays, and is in no stack" if retained(old) else "what the old one encrypted is lost with it"
        )
    if old.get("Type") == TOPIC:
        return "subscriptions that no template makes are lost"
    return "its data stays behind, in no stack" if retained(old) else "its data is deleted"


def _remade(kind: str, path: Path) -> str:
    """Whether a property can be set only when the resource is made, in words."""
    if path[:1] != ("Properties",) or len(path) < 2:
        return ""
    known = facts(kind).at(path[1:])
    if known.create_only or (known.conditional_create_only and path[1] == "KeySchema"):
        return f"{path[1]} cannot be changed in place: CloudFormation makes a new one"
    if known.conditional_create_only and path[1] not in IN_PLACE:
        return f"{path[1]} may not be changed in place: CloudFormation may make a new one"
    return ""


def _indexes(table: Any) -> set[str]:
    indexes = items(read(table, ("Properties", "GlobalSecondaryIndexes")))
    return {str(i.get("IndexName")) for i in indexes if isinstance(i, dict)}


def _alarms(contract: Json | None, store: str | None) -> int:
    if contract is None or store is None:
        return 0
    names = store_names(resources(contract))
    return sum(r.get("Type") == ALARM and about(r, names) == store for r in resources(contract).values())
