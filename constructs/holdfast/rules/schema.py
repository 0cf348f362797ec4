"""The schema linter: what is wrong with keys, indexes and access patterns before anything is deployed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date

from holdfast.cfn.template import Source
from holdfast.estate.estate import Estate
from holdfast.estate.stack import Stack
from holdfast.kinds.table.declaration import Table
from holdfast.rules import declared as check
from holdfast.rules.base import Check, Finding, Rule, Severity, run_check
from holdfast.rules.waivers import standing, waived
from holdfast.verdict import Outcome, Verdict


def lint(estate: Estate, *, today: date) -> list[Finding]:
    """Everything that the rules below have to say about the declared stacks and tables, in order of declaration."""
    found: list[Finding] = []
    for stack in estate.stacks:
        found += _judged(check.DeclaredStack(estate, stack), stack, None)
        for table in stack.tables:
            about = _judged(check.Declared(estate, stack, table), stack, table)
            where = estate.environments_of(stack, table)
            found += [waived(f, table.waivers, where, today) for f in about]
    return [*found, *standing(estate.placements(), today, {rule.id for rule in RULES})]


def _judged(subject: check.Declared | check.DeclaredStack, stack: Stack, table: Table | None) -> Iterator[Finding]:
    for rule in RULES:
        for checked in (c for c in rule.checks if c.of is type(subject)):
            yield from (_finding(rule, stack, table, said) for said in run_check(checked, subject))


def _finding(rule: Rule, stack: Stack, table: Table | None, said: Verdict) -> Finding:
    name = table.name if table else None
    return Finding(
        rule=rule,
        outcome=said.outcome,
        detail=said.detail,
        table=name,
        stack=stack.id,
        environment=None,
        source=Source.DECLARATION,
        where="/".join(filter(None, (stack.id, name, said.part))),
        fix=rule.remediation.format(table=name or stack.id, stack=stack.id),
    )


def _each(run: Callable[[check.Declared], check.Found]) -> Check[check.Declared]:
    """A check that says what is wrong with each part of a table, and nothing where all is well."""
    return Check(check.Declared, lambda d: _failures(run(d)))


def _failures(found: check.Found) -> list[Verdict]:
    return [Verdict(Outcome.FAIL, detail, part) for part, detail in found]


RULES: tuple[Rule, ...] = (
    Rule(
        id="HF401",
        title="Indexes do not repeat the table's primary key",
        why=(
            "A global secondary index is a second copy of the items under another key. This one has the table's "
            "partition key and no sort key of its own, so every query that it answers the table answers too. "
            "It costs one more write for each write and stores its copy of every item, for nothing."
        ),
        remediation=(
            "Make sure that no code names the index in a query, query the table instead, then delete the index "
            "from indexes=(…) of {table}. CloudFormation removes one index in each update."
        ),
        severity=Severity.MEDIUM,
        checks=(_each(check.redundant),),
    ),
    Rule(
        id="HF402",
        title="Indexes are not the beginning of another index",
        why=(
            "Two indexes have the same partition key and copy the same attributes, and only one of them has a sort "
            "key. A query may leave the sort key out, so the longer index answers everything that the shorter one "
            "does; only the order of the items differs. Every write pays for both."
        ),
        remediation=(
            "Make sure that every item of {table} carries the sort key of the longer index (an item without it is "
            "not in that index), point the readers there, then delete the shorter one from indexes=(…)."
        ),
        severity=Severity.LOW,
        checks=(_each(check.prefix),),
    ),
    Rule(
        id="HF403",
        title="Declared entities write the key of every index",
        why=(
            "DynamoDB puts an item into an index only if the item has every key attribute of that index. No "
            "declared entity writes these, so the index stays empty: a query on it finds nothing and reports no "
            "error. Most often the items use another spelling, such as created_at for createdAt."
        ),
        remediation=(
            "Write the attribute in the items of {table} and add it to attributes=(…) of their Entity; or make a "
            "new index on the attribute that they do carry, move the readers, and delete this one."
        ),
        severity=Severity.MEDIUM,
        checks=(_each(check.unwritten),),
    ),
    Rule(
        id="HF404",
        title="Key attributes are top-level attributes",
        why=(
            "A key must be a top-level attribute. DynamoDB reads a.b in a key as one attribute with that very "
            "name, never as the field b of a map a. Items that hold the value inside a map are missing from the "
            "index, and no error says so."
        ),
        remediation=(
            "Write the value of the nested field once more as a top-level attribute without a dot, say outcome; "
            'declare gsi("outcome", …) in {table}, fill in old items, move the readers, then delete this index.'
        ),
        severity=Severity.MEDIUM,
        checks=(_each(check.dotted),),
    ),
    Rule(
        id="HF405",
        title="Key attributes have one type, which is not Boolean",
        why=(
            "A key is a String, a Number or Binary. DynamoDB refuses to store an item that has a Boolean where the "
            "table or an index has a key attribute, so an application that follows its own documentation cannot "
            "write. The same holds for an item whose attribute has another type than the key, and for an empty String. "
            "Some emulators accept all of these, so the error may first show in production."
        ),
        remediation=(
            "Write one type everywhere, 0 or 1 for a Boolean, declare the key attribute of {table} with it, and take "
            "the attribute out of booleans=(…) or mixed=(…) once the applications do so."
        ),
        severity=Severity.HIGH,
        checks=(_each(check.wrong_type),),
    ),
    Rule(
        id="HF406",
        title="Partition keys have many values",
        why=(
            "A partition takes about 1000 write units and 3000 read units a second. With a handful of partition "
            "key values the whole load meets on a handful of partitions; DynamoDB can split a busy value by its "
            "sort key, but not usefully where that is the time of writing. When a partition of an index is too "
            "busy, the writes to the table itself are throttled."
        ),
        remediation=(
            "Partition by something with many values, such as the store or the user, and put the attribute that "
            'has few into the sort key or a filter: gsi("storeId", "status") in {table}. If the few values are '
            "needed as they are, append a shard number to them and query each shard."
        ),
        severity=Severity.MEDIUM,
        checks=(_each(check.low_cardinality),),
    ),
    Rule(
        id="HF407",
        title="Key attributes are not reserved words",
        why=(
            "DynamoDB refuses an expression that names a reserved word directly, in any spelling of case. Every "
            "query that compares this key needs a placeholder for the name; the one that forgets it fails when "
            "it runs, not when it is written."
        ),
        remediation=(
            "In every expression on {table} use a placeholder: KeyConditionExpression='#k = :v' with "
            "ExpressionAttributeNames={{'#k': '<the attribute>'}}. Choose another name for new attributes."
        ),
        severity=Severity.LOW,
        checks=(_each(check.reserved),),
    ),
    Rule(
        id="HF408",
        title="Items write key attributes under the name that the key has",
        why=(
            "The applications write the attribute under a new name, and the key keeps the old one: the key of an "
            "index cannot be changed. Items without the old name never enter the index, so a query on it returns "
            "old data only, without an error."
        ),
        remediation=(
            "Write both names for now. Then declare an index on the new name in {table}, fill in old items, move "
            "the readers, delete the old index and take its name out of renamed={{…}}."
        ),
        severity=Severity.HIGH,
        checks=(_each(check.renamed),),
    ),
    Rule(
        id="HF409",
        title="A key or an index serves every access pattern",
        why=(
            "A documented question cannot be answered: no item that the declared entities write has the key values "
            "that it asks for, or the declaration itself says that it cannot work. The query returns nothing or is "
            "refused, and the feature behind it does not work."
        ),
        remediation=(
            "Write an item or an attribute with these key values and declare it in the entities of {table}, or add "
            "an index and name it in the pattern; or withdraw the pattern from patterns=(…)."
        ),
        severity=Severity.HIGH,
        checks=(_each(check.unserved),),
    ),
    Rule(
        id="HF410",
        title="An access pattern uses every index",
        why=(
            "Every index costs a write for each write and a copy of what it projects. The stack declares its "
            "access patterns, and none of them reads this index: either a pattern is missing in the declaration, "
            "or the index is paid for and not needed."
        ),
        remediation=(
            "Look at the reads of the index over 30 days (CloudWatch ConsumedReadCapacityUnits by TableName and "
            "GlobalSecondaryIndexName). If there are any, declare their pattern; if there are none, delete the "
            "index from indexes=(…) of {table}."
        ),
        severity=Severity.LOW,
        checks=(_each(check.unused),),
    ),
    Rule(
        id="HF411",
        title="Few indexes copy each write",
        why=(
            "Every index that an item enters costs a write of its own, and a copy of the item or of its keys. "
            "Many indexes that copy whole items multiply what is paid and stored. The number is an upper bound "
            "for a new item: an index whose key attributes the item lacks costs nothing. A change costs in the "
            "indexes that copy what has changed, and twice where it moves the item to another key."
        ),
        remediation=(
            "Delete the indexes of {table} that are not read; deleting empty ones saves nothing. Where a look-up "
            "needs the keys only, make a new index with gsi(…, name=…, projection=Projection.KEYS_ONLY), because "
            "the projection of an index cannot be changed, move the readers and delete the old one."
        ),
        severity=Severity.LOW,
        checks=(_each(check.amplified),),
    ),
    Rule(
        id="HF412",
        title="Time-to-live values are seconds, and later than the item",
        why=(
            "DynamoDB deletes an item when its TTL attribute, a Number of seconds since 1970, has passed. A value "
            "from before the item was created deletes the item soon after it is written, milliseconds keep it for "
            "thousands of years, and a table whose items lack the attribute only grows."
        ),
        remediation=(
            "Compute the value from the moment of writing: declare expires_after=timedelta(…) on the Entity of "
            "{table} and write entity.ttl(datetime.now(UTC)). Correct the sample in the documentation, then drop "
            "documented_ttl=."
        ),
        severity=Severity.HIGH,
        checks=(_each(check.expiry),),
    ),
    Rule(
        id="HF413",
        title="Relations join attributes of one identity",
        why=(
            "Both ends of a relation must identify the same kind of thing. An account number that is looked up "
            "where store ids are stored finds nothing or, worse, another's data. A relation to a table that no "
            "stack declares, or between attributes without a declared identity, cannot be judged at all."
        ),
        remediation=(
            "Correct the relation of {table} so that both ends hold the same identity, if need be through the "
            "table that maps one to the other; or name what the attribute identifies in identities={{…}}."
        ),
        severity=Severity.HIGH,
        checks=(_each(check.confused),),
    ),
    Rule(
        id="HF414",
        title="Streams have a consumer",
        why=(
            "A stream keeps every change, whole items included, for 24 hours. Without a consumer it does nothing "
            "but hold another copy of the data, and often it shows that a consumer was lost: what should follow "
            "from a change no longer happens."
        ),
        remediation=(
            'Name the consumer: Stream(view=…, consumer="…") in {table}; or delete stream= from the declaration, '
            'or say why it is off for now with pending="…".'
        ),
        severity=Severity.LOW,
        checks=(_each(check.unread),),
    ),
    Rule(
        id="HF415",
        title="Facts are documented, not assumed",
        why=(
            "No source gives these facts, so they were chosen, with a reason beside each. A wrong guess at a key or "
            "its type matters: a deploy would replace the table, and an import would be refused."
        ),
        remediation=(
            "`holdfast list --assumed` prints each value, and `holdfast audit --env all` compares those of {table} with the live "
            "account: correct the declaration and delete assumed=."
        ),
        severity=Severity.INFO,
        checks=(
            _each(check.assumed),
            Check(check.DeclaredStack, lambda d: _failures(check.assumed_of_stack(d))),
        ),
    ),
    Rule(
        id="HF416",
        title="Successors of tables are declared",
        why=(
            "A table that names its successor is kept until that one holds its items. A successor that no stack "
            "declares cannot be compared with it, so nothing says when it may go."
        ),
        remediation="Declare the table that replaces {table}, or delete replaced_by= from its state.",
        severity=Severity.MEDIUM,
        checks=(_each(check.astray),),
    ),
    Rule(
        id="HF417",
        title="Owners of production stacks have a channel for their alarms",
        why=(
            "An alarm publishes to the topic of its stack, and without a subscription it is not delivered. "
            "The alarm is red in a console until a customer calls."
        ),
        remediation=(
            'Give the owner of {stack} an address: Owner(name=…, tell=("https://…",)); it becomes a subscription of '
            "the topic of each of its stacks."
        ),
        severity=Severity.LOW,
        checks=(Check(check.DeclaredStack, lambda d: _failures(check.untold(d))),),
    ),
    Rule(
        id="HF418",
        title="New tables are named as the policy says",
        why=(
            "Permissions, budgets and searches by the beginning of a name miss the table that is called otherwise. "
            "It cannot be renamed once it holds data."
        ),
        remediation=(
            "Rename {table} before it is deployed; where it exists already, add it to existing=(…) of the naming rule."
        ),
        severity=Severity.MEDIUM,
        checks=(_each(check.misnamed),),
    ),
    Rule(
        id="HF419",
        title="A successor has every guard of what it replaces",
        why=(
            "The data moves to the table that is named in replaced_by=. What protects it here and not there is lost "
            "with the move, although no declaration changes on that day."
        ),
        remediation=(
            "Give the successor of {table} the guards that are missing, or write the reason into fewer_guards= of its "
            "state."
        ),
        severity=Severity.HIGH,
        checks=(_each(check.weakened),),
    ),
    Rule(
        id="HF420",
        title="Personal data behind a wall carries the wall in a key",
        why=(
            "The stack says by which identity the data of its customers is separated. Every reader of a table without a "
            "key of that identity can read across the wall, and an IAM policy with a condition on leading keys cannot "
            "prevent it."
        ),
        remediation=(
            "Add an index that begins with the wall's identity to {table} and restrict readers to it, or keep the "
            "separation in the application and say so where readers are granted."
        ),
        severity=Severity.INFO,
        checks=(_each(check.crossing),),
    ),
)
