"""Everything that a company declares, as one object: environments, policy, owners and stacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from holdfast.estate.placement import Placed, places
from holdfast.estate.stack import Access, Processor, Stack
from holdfast.kinds.table.declaration import Table, illegal_name
from holdfast.model.declaration import DeclarationError, Located, checked, declared_at
from holdfast.model.environment import Environment
from holdfast.model.facts import ExternalKey, SharedKey, StackKey, unknown_placeholders
from holdfast.model.owners import Owner
from holdfast.model.regions import partition
from holdfast.model.store import Store
from holdfast.policy.required import DEFAULT, Policy, TagSource

STACK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")


@checked
@dataclass(frozen=True, kw_only=True)
class Estate:
    """The declared stacks, refused where two would fight over a name in one account and region."""

    name: str
    environments: tuple[Environment, ...]
    stacks: tuple[Stack, ...]
    policy: Policy = DEFAULT
    owners: tuple[Owner, ...] = ()  # where any are named, every stack belongs to one of them
    foreign: tuple[str, ...] = ()  # other teams' tables in the same accounts, such as "billing-*"; only counted

    def __post_init__(self) -> None:
        labels = [e.label for e in self.environments]
        for label in labels:
            if labels.count(label) > 1:
                raise DeclarationError(f"two environments are called {label}; rename one")
        if not all(self.foreign):
            raise DeclarationError("foreign=(…) has an empty name: give names of tables, such as billing-*")
        self._check_owners()
        for stack in self.stacks:
            self._check_stack(stack)
        for naming in self.policy.naming:
            for unknown in set(naming.stacks) - {s.id for s in self.stacks}:
                raise DeclarationError(
                    f"policy: naming of {naming.begins!r} speaks of stack {unknown}, which is not declared"
                )
        self._check_names()

    def alone(self, stack: Stack) -> Estate:
        """With this stack only, and without rules of names that speak of others."""
        naming = tuple(n for n in self.policy.naming if {*n.stacks} <= {stack.id})
        return replace(self, stacks=(stack,), policy=replace(self.policy, naming=naming))

    def placements(self, environments: Iterable[Environment] | None = None) -> tuple[Placed, ...]:
        """Every stack in every place of ``environments`` that it is declared for; of all, unless some are named."""
        if environments is None:
            return self._placements
        wanted = tuple(environments)
        return tuple(p for env in wanted for p in self._placements if p.env == env)

    def environments_of(self, stack: Stack, store: Table | Store) -> tuple[Environment, ...]:
        """Where a table or store is declared for."""
        only = store.only if isinstance(store, Table) else None
        return tuple(
            env
            for env in self.environments
            if (stack.environments is None or env in stack.environments) and (only is None or env in only)
        )

    def named(self, label: str) -> tuple[Environment, ...]:
        """``all`` or one environment's label; anything else is refused with the labels that exist."""
        if label == "all":
            return self.environments
        for env in self.environments:
            if env.label == label:
                return (env,)
        known = ", ".join((*(e.label for e in self.environments), "all"))
        raise DeclarationError(f"unknown environment {label!r}: known are {known}")

    @cached_property
    def _placements(self) -> tuple[Placed, ...]:
        tell = {owner.name: owner.tell for owner in self.owners}
        return self._with_keys(
            Placed(stack, env, place, self.policy, tell.get(stack.owner, ()))
            for env in self.environments
            for stack in self.stacks
            if stack.environments is None or env in stack.environments
            for place in places(stack, env)
        )

    def _with_keys(self, places: Iterable[Placed]) -> tuple[Placed, ...]:
        """``places``, each with who holds the key that it shares, or with who shares its own."""
        every = tuple(places)
        users: dict[str, tuple[Placed, ...]] = {}
        for placed in every:
            if holder := self._holder(placed, every):
                users[holder.id] = (*users.get(holder.id, ()), placed)
        holders = {user.id: replace(p, key_users=users[p.id]) for p in every for user in users.get(p.id, ())}
        return tuple(replace(p, key_holder=holders.get(p.id), key_users=users.get(p.id, ())) for p in every)

    def _key(self, stack: Stack) -> StackKey | ExternalKey | SharedKey:
        """Where the key of a stack comes from; what shares its own key makes it."""
        declared = stack.key or self.policy.key
        return StackKey() if isinstance(declared, SharedKey) and declared.stack == stack.id else declared

    def _holder(self, placed: Placed, every: Iterable[Placed]) -> Placed | None:
        shared = self._key(placed.stack)
        if not isinstance(shared, SharedKey):
            return None
        for other in every:
            together = (other.env, other.place) == (placed.env, placed.place)
            if other.stack.id == shared.stack and together and isinstance(self._key(other.stack), StackKey):
                return other
        raise DeclarationError(
            f"stack {placed.stack.id}: {shared.stack}, whose key it shares, makes none in {placed.place} "
            f"({placed.env.label}); declare it there, with key=StackKey()"
        )

    def _check_owners(self) -> None:
        names = [owner.name for owner in self.owners]
        for name in names:
            if names.count(name) > 1:
                raise DeclarationError(f"two owners are called {name}; merge them")
        for stack in self.stacks if names else ():
            if stack.owner not in names:
                raise DeclarationError(
                    f"stack {stack.id}: its owner {stack.owner} is not among owners=({', '.join(names)})"
                )

    def _check_stack(self, stack: Stack) -> None:
        if wrong := unknown_placeholders(stack.id):
            raise DeclarationError(f"stack {stack.id}: {wrong}", declared_at(stack))
        named = (*(stack.environments or ()), *stack.undeployed, *stack.environment_names)
        stores = (*stack.tables, *stack.stores)
        for env, declaration in (
            *((env, stack) for env in named),
            *((env, table) for table in stack.tables for env in table.only or ()),
            *((waiver.environment, waiver) for store in stores for waiver in store.waivers),
        ):
            if env not in self.environments:
                known = ", ".join(e.label for e in self.environments)
                said = f"stack {stack.id}: {env.label} is not an environment of the estate ({known})"
                raise DeclarationError(said, declared_at(declaration))
        for store in stores:
            if not self.environments_of(stack, store):
                said = f"{store.name}: stack {stack.id} declares it for no environment; correct environments= or only="
                raise DeclarationError(said, declared_at(store))
        asked = self.policy.recovery_days
        for table in stack.tables:
            if table.recovery_days is not None and table.recovery_days < asked:
                raise DeclarationError(
                    f"table {table.name}: recovery_days={table.recovery_days} is less than the {asked} that the policy "
                    "asks for; drop it",
                    declared_at(table),
                )
            given = {name for name, source in self.policy.tags.items() if source is not TagSource.NAME}
            for name in sorted(table.tags.keys() & given):
                raise DeclarationError(f"table {table.name}: the policy gives the tag {name}; drop it from tags=")
        for store in stores:
            self._check_waivers(stack, store)
        for name, source in self.policy.tags.items():
            if source is TagSource.STACK and name not in stack.tags:
                said = f"stack {stack.id}: the policy requires the tag {name}: add it to tags="
                raise DeclarationError(said, declared_at(stack))
            if source is not TagSource.STACK and name in stack.tags:
                said = f"stack {stack.id}: the policy gives the tag {name}; drop it from tags="
                raise DeclarationError(said, declared_at(stack))

    def _check_waivers(self, stack: Stack, store: Table | Store) -> None:
        """A waiver that can excuse nothing is a slip: the one that was meant is missing."""
        seen: set[tuple[str, Environment]] = set()
        for waiver in store.waivers:
            env = waiver.environment
            if env not in self.environments_of(stack, store):
                raise DeclarationError(
                    f"{store.name}: its waiver of {waiver.rule} is for {env.label}, where stack {stack.id} does not "
                    "declare it; name another environment= or drop the waiver",
                    declared_at(waiver),
                )
            if (waiver.rule, env) in seen:
                said = f"{store.name}: two waivers of {waiver.rule} in {env.label}; drop one"
                raise DeclarationError(said, declared_at(waiver))
            seen.add((waiver.rule, env))

    def _check_names(self) -> None:
        owners: dict[tuple[str | None, str, str, str], Placed] = {}
        ids: dict[str, Placed] = {}
        for placed in self._placements:
            if ids.setdefault(placed.id, placed) is not placed:
                raise DeclarationError(
                    f"stack {placed.id} is declared twice for {placed.env.label}; rename or merge one",
                    declared_at(placed.stack),
                )
            stores = (*placed.tables, *placed.stores)
            users: tuple[Processor | Access, ...] = (*placed.stack.processors, *placed.stack.access)
            names = (placed.stack.id, *(s.name for s in stores), *(u.name for u in users), *placed.tell)
            if isinstance(key := self._key(placed.stack), ExternalKey):
                names = (*names, key.arn)
            if placed.account is None and any("{account}" in name for name in names):
                raise DeclarationError(
                    f"stack {placed.stack.id}: a name holds {{account}}; "
                    f"give environment {placed.env.label} its account=",
                    declared_at(placed.stack),
                )
            of_key = (placed.external_key or "").split(":")
            if placed.external_key and (of_key[1], of_key[3]) != (partition(placed.region), placed.region):
                raise DeclarationError(
                    f"stack {placed.stack.id}: the key {placed.external_key} is not of {placed.region}, where the "
                    "stack is deployed; a key encrypts in its own region and partition only"
                )
            if not STACK_NAME.fullmatch(placed.name):
                raise DeclarationError(
                    f"stack {placed.stack.id}: its name {placed.name!r} needs up to 128 letters, digits and '-', "
                    "and has to start with a letter",
                    declared_at(placed.stack),
                )
            self._check_users(placed)
            _claim(owners, placed, "stack", placed.name, placed.stack)
            for table in placed.tables:
                name = placed.fill(table.name)
                if illegal := illegal_name(name):
                    said = f"table {table.name}: in {placed.env.label} its name {name!r} {illegal}"
                    raise DeclarationError(said, declared_at(table))
                _claim(owners, placed, "table", name, table)
            for store in placed.stores:
                name = placed.fill(store.name)
                if wrong := store.illegal_name(name, placed.region):
                    said = f"{store.kind} {store.name}: in {placed.env.label} its name {wrong}"
                    raise DeclarationError(said, declared_at(store))
                _claim(owners, placed, store.kind, name, store)
            # IAM knows no regions: its names are the account's.
            policies = [placed.fill(access.name) for access in placed.stack.access]
            for name in (*policies, *([placed.application_policy] if placed.stores else [])):
                _claim(owners, placed, "policy", name, placed.stack, everywhere=True)

    def _check_users(self, placed: Placed) -> None:
        """Functions and policies need their table wherever their stack is."""
        there = {table.name for table in placed.tables}
        users: tuple[Processor | Access, ...] = (*placed.stack.processors, *placed.stack.access)
        for user in users:
            of = f"stack {placed.stack.id}: {type(user).__name__} {user.name}"
            if wrong := unknown_placeholders(user.name):
                raise DeclarationError(f"{of}: {wrong}", declared_at(placed.stack))
            if user.table not in there:
                said = f"{of} uses {user.table}, which is not in {placed.env.label}; correct only= of it"
                raise DeclarationError(said, declared_at(placed.stack))


def _claim(
    owners: dict[tuple[str | None, str, str, str], Placed],
    placed: Placed,
    kind: str,
    name: str,
    declaration: Located,
    *,
    everywhere: bool = False,
) -> None:
    """``everywhere``: in all regions of an account."""
    first = owners.setdefault((placed.account, "" if everywhere else placed.region, kind, name), placed)
    if first is placed:
        return
    both = f"{kind} {name} is declared by {first.id} and by {placed.id} in {placed.place}"
    if kind == "stack":
        raise DeclarationError(f"{both}; put {{env}} into the id of the stack", declared_at(declaration))
    if kind == "policy":
        said = f"{both}, and IAM has one of a name in all regions; give another name= or applications="
        raise DeclarationError(said, declared_at(declaration))
    raise DeclarationError(f"{both}; a {kind} has one stack: drop one declaration", declared_at(declaration))
