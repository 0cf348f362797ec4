"""Every access pattern on the real engine: it finds what its purpose says, in order, page by page, and nothing else.

What has to be found is told by facts about the items (which user, which account), typed out by hand from the documents,
and not by their keys: a key that is declared wrongly finds something else.
"""

from __future__ import annotations

import functools
import json
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from boto3.dynamodb.conditions import Attr, ConditionBase, Key
from botocore.exceptions import ClientError
from documented_items import ACS, ENTITIES, NOW, REPO, ROWS, SAMPLES, STORE, USER, Row, iso, rows, written
from dynamodb_local import JAVA, create, schema, server
from emulator import fresh_account
from stream_records import record
from support import Json

from holdfast import Fact, Guard, Pattern, Stack, Table, gsi, number
from holdfast.estate.placement import Placed
from stacks import ESTATE, acs, call_analytics, environments, miyabi, orange_theory
from stacks.functions.stream_processor.handler import process

if JAVA is None:
    pytest.skip(
        "java is not installed, so DynamoDB Local cannot run: install a JDK, 17 or newer", allow_module_level=True
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """The items that a question has to return: those of a kind, by facts that it gives, in order of another one."""

    by: str  # in the order in which the pattern names its values
    order: str = ""  # with a minus where the newest comes first
    kind: str = ""  # of Miyabi's one table
    one: bool = False  # there is never a second one
    where: Mapping[str, Any] | None = None

    def rows(self, written: list[Row], asked: tuple[Any, ...]) -> list[Row]:
        wanted = dict(zip(self.by.split(), asked, strict=True)) | dict(self.where or {})
        return [r for r in self.kinds(written) if wanted.items() <= r.values.items()]

    def kinds(self, written: list[Row]) -> list[Row]:
        return [r for r in written if r.kind == self.kind]


CALLS = Answer(by="franchise", order="callStartTime")
AUDITED = Placed(call_analytics.STACK, environments.PROD)  # of which the audit's checklist asks
# What each question returns: the witness that keys and indexes do what the documents say. By table and pattern.
ANSWERS: dict[str, dict[str, Answer]] = {
    call_analytics.ANALYSIS: {
        "franchise-callStartTime-index": CALLS,
        "fromPhoneNumber-callStartTime-index": replace(CALLS, by="fromPhoneNumber"),
        "toPhoneNumber-callStartTime-index": replace(CALLS, by="toPhoneNumber"),
        "callDirection-callStartTime-index": replace(CALLS, by="callDirection"),
        "staff_performance...name-callStartTime-index": replace(CALLS, by="staff_performance...name"),
        "call_categorization...classification-callStartTime-index": replace(
            CALLS, by="call_categorization...classification"
        ),
        "call_categorization.follow_up_type-callStartTime-index": replace(
            CALLS, by="call_categorization.follow_up_type"
        ),
        "call_outcome.outcome_category-callStartTime-index": replace(CALLS, by="call_outcome.outcome_category"),
        "transcriptionJobName-index": Answer("transcriptionJobName", one=True),
    },
    "call-analytics-{env}-call-events-{region}": {
        "transcriptionJobName-index": Answer("transcriptionJobName", one=True),
        "sessionId-index": Answer("sessionId", one=True),
    },
    "LeadTracking-v2-{region}": {
        "email-receivedAt-index": Answer("leadEmail", "receivedAt"),
        "emailFrom-receivedAt-index": Answer("emailFrom", "receivedAt"),
        "phone-receivedAt-index": Answer("phone", "receivedAt"),
        "forwardedOriginalFrom-receivedAt-index": Answer("forwardedOriginalFrom", "receivedAt"),
    },
    orange_theory.NUMBERS: {"NUMBERS-OF-ACCOUNT": Answer("providerAccountId", "phoneNumber")},
    orange_theory.ASSIGNMENTS: {"STORE-OF-NUMBER": Answer("phoneNumber", one=True)},
    orange_theory.STORES: {"STORE": Answer("storeId", one=True), "STORES-OF-USER": Answer("userId")},
    acs.USERS: {"id-index": Answer("id", one=True)},
    acs.CONVERSATIONS: {
        "ACS2": Answer("conversation_id", "response_id"),
        "ACS3": Answer("associated_account"),
        "associated_account-index": Answer("associated_account"),
        "associated_account-is_first_email-index": Answer("associated_account", "is_first_email"),
        "conversation_id-index": Answer("conversation_id"),
        "message_id-index": Answer("message_id"),
        "response_id-index": Answer("response_id"),
    },
    acs.THREADS: {
        "associated_account": Answer("associated_account"),
        "conversation_id-index": Answer("conversation_id", one=True),
    },
    acs.MEMBERS: {"user_id-index": Answer("user_id")},
    acs.INVITES: {
        "email-index": Answer("email"),
        "invite_token-index": Answer("invite_token", one=True),
        "organization_id-index": Answer("organization_id"),
    },
    acs.SESSIONS: {"ACS4": Answer("user_id", where={"is_active": True})},
    acs.RATE_AI: {"associated_account-index": Answer("associated_account", one=True)},
    acs.RATE_AWS: {"associated_account-index": Answer("associated_account", one=True)},
    acs.EV_DATA: {"conversation_id-index": Answer("conversation_id", one=True)},
    acs.LLM_DATA: {"conversation_id-index": Answer("conversation_id", one=True)},
    acs.LLM_REPORTS: {"report_id-index": Answer("report_id", one=True)},
    acs.INVOCATIONS: {
        "associated_account-index": Answer("associated_account"),
        "id-index": Answer("id", one=True),
    },
    miyabi.TABLE: {
        "AP1": Answer("userId", kind="USER", one=True),
        "AP2": Answer("userId", "repoId", "REPOSITORY"),
        "AP3": Answer("repoId", "startedAt", "AGENT_EXECUTION"),
        "AP4": Answer("execId", kind="AGENT_EXECUTION/1", one=True),
        "AP5": Answer("status", "-startedAt", "AGENT_EXECUTION"),
        "AP6": Answer("userId", "taskId", "TASK"),
        "AP7": Answer("taskId", "dependsOnTaskId", "TASK_DEPENDENCY"),
        "AP8": Answer("connectionId", kind="WEBSOCKET", one=True),
        "AP9": Answer("orgId", "userId", "USER"),
        "AP10": Answer("repoId workflowId", kind="WORKFLOW", one=True),
        "GSI2-REPO": Answer("orgId", "repoId", "REPOSITORY"),
        "REPO": Answer("repoId", kind="REPOSITORY/1", one=True),
        "USER-WS": Answer("userId", "connectionId", "WEBSOCKET/1"),
        "GSI1-TASK_STATUS": Answer("status", "-createdAt", "TASK"),
        "USER-LINE": Answer("userId", "sentAt", "LINE_MESSAGE"),
        "ORG": Answer("orgId", kind="ORGANIZATION", one=True),
        "ORG-MEMBER": Answer("orgId", "userId", "ORG_MEMBER"),
        "EXEC-LOG": Answer("execId", "loggedAt", "EXECUTION_LOG"),
    },
}
# What cannot work on items as documented: by which of their attributes it is asked in vain, and for which items.
IN_VAIN: dict[str, dict[str, Answer]] = {
    acs.USERS: {"ACS1": Answer("email"), "userId-createdAt-index": Answer("id")},
    call_analytics.ANALYSIS: {
        "franchise-siteId-index": Answer("franchise account_id"),
        "siteId-callStartTime-index": Answer("account_id"),
    },
    miyabi.TABLE: {"GSI1-AGENT_TYPE": Answer("agentType", kind="AGENT_EXECUTION")},
}


def every_pattern() -> Iterator[tuple[Stack, Table, Pattern]]:
    return ((s, t, p) for s in ESTATE.stacks for t in s.tables for p in s.patterns_of(t))


def named(listed: dict[str, dict[str, Answer]]) -> set[tuple[str, str]]:
    return {(table, pattern) for table, patterns in listed.items() for pattern in patterns}


def cases(*, unsupported: bool) -> list[Any]:
    """Every pattern of the estate, in its declaration: what is in no list has no answer, and fails."""
    return [
        pytest.param(table, pattern, id=f"{stack.system} {table.name} {pattern.id}")
        for stack, table, pattern in every_pattern()
        if bool(pattern.unsupported) == unsupported
    ]


class Tables:
    """Tables on one server, each made and filled when the first test asks for it."""

    def __init__(self, dynamodb: Any) -> None:
        self.dynamodb = dynamodb
        self._filled: dict[str, tuple[Any, list[Row]]] = {}

    def __call__(self, declared: Table) -> tuple[Any, list[Row]]:
        """The table and what was written: shared, so a test that writes makes a table of its own."""
        if declared.name not in self._filled:
            self._filled[declared.name] = self.fresh(declared, f"shared-{len(self._filled)}", rows(declared))
        return self._filled[declared.name]

    def fresh(self, declared: Table, name: str, written: list[Row]) -> tuple[Any, list[Row]]:
        table = create(self.dynamodb, declared, name)
        with table.batch_writer() as batch:
            for row in written:
                batch.put_item(Item=row.item)
        return table, written


@pytest.fixture(scope="module")
def tables() -> Iterator[Tables]:
    with server() as resource:
        yield Tables(resource)


def ask(table: Any, declared: Table, pattern: Pattern, *asked: Any, limit: int | None = None) -> list[Json]:
    """Every item that answers a pattern, over as many pages as it takes; its values in the order of its templates."""
    names = [
        n for text in (pattern.partition, pattern.sort or "") for _, n, _, _ in string.Formatter().parse(text) if n
    ]
    method, request = pattern.request(declared, dict(zip(names, asked, strict=True)))
    return pages(table, method, request, limit)


def pages(table: Any, method: str, request: Json, limit: int | None = None) -> list[Json]:
    if method == "get_item":
        answer = table.get_item(**request)
        return [answer["Item"]] if "Item" in answer else []
    items: list[Json] = []
    more: Json = {"Limit": limit} if limit else {}
    while True:
        page = table.query(**request, **more)
        assert len(page["Items"]) <= (limit or len(page["Items"]))
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        more["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def keyed(declared: Table, items: list[Json]) -> dict[tuple[Any, ...], Json]:
    """Whole items by their key, to compare them in any order; none may come twice."""
    found = {tuple(item[a.name] for a in declared.key.attributes): item for item in items}
    assert len(found) == len(items)
    return found


def the(patterns: tuple[Pattern, ...], name: str) -> Pattern:
    return next(p for p in patterns if p.id == name)


def refused(call: Callable[..., Any], **request: Any) -> str:
    with pytest.raises(ClientError) as error:
        call(**request)
    assert error.value.response["Error"]["Code"] == "ValidationException"
    return str(error.value.response["Error"]["Message"])


# Every pattern --------------------------------------------------------------------------------------------------------


def test_every_pattern_of_the_estate_is_asked_and_nothing_else_is_unsupported() -> None:
    declared = [(t.name, p.id, p.unsupported) for _, t, p in every_pattern()]
    assert len({(t, p) for t, p, _ in declared}) == len(declared)
    assert {(t, p) for t, p, why in declared if why is None} == named(ANSWERS)
    assert {(t, p) for t, p, why in declared if why is not None} == named(IN_VAIN)
    assert all(why for _, _, why in declared if why is not None)


def test_w12_every_index_has_a_question_unless_its_document_gives_none() -> None:
    """A documented index that no pattern reads is one that is only counted there, or given by its name alone."""
    read = {(t.name, p.index) for _, t, p in every_pattern()}
    for stack in ESTATE.stacks:
        for table in stack.tables:
            for index in table.every_index:
                if index.source != () and (table.name, index.name) not in read:
                    assert {a.fact for a in index.assumed} & {Fact.INDEX, Fact.INDEX_KEY}, (table.name, index.name)


@pytest.mark.parametrize(("declared", "pattern"), cases(unsupported=False))
def test_w12_a_pattern_finds_what_its_purpose_says(declared: Table, pattern: Pattern, tables: Tables) -> None:
    table, written = tables(declared)
    answer = ANSWERS[declared.name][pattern.id]
    names = answer.by.split()
    every = {tuple(r.values[n] for n in names) for r in written if set(names) <= r.values.keys()}
    expected = {asked: [r.item for r in answer.rows(written, asked)] for asked in sorted(every)}
    assert sum(map(bool, expected.values())) > 1, "all items answer one question: there are no neighbours"
    longest = max(map(len, expected.values()))
    assert longest == 1 if answer.one else longest > 2, "pages of one and of two are several"
    found = {asked: ask(table, declared, pattern, *asked) for asked in expected}
    for asked, items in expected.items():
        assert keyed(declared, found[asked]) == keyed(declared, items)
    assert ask(table, declared, pattern, *("absent" for _ in names)) == []
    facts = keyed(declared, [{**r.item, "facts": r.values} for r in written])
    for items in found.values() if answer.order else ():
        order = [facts[key]["facts"][answer.order.lstrip("-")] for key in keyed(declared, items)]
        assert order == sorted(order, reverse=answer.order.startswith("-"))
    most = max(found, key=lambda asked: len(found[asked]))
    for limit in (1, 2):
        assert ask(table, declared, pattern, *most, limit=limit) == found[most]


@pytest.mark.parametrize(("declared", "pattern"), cases(unsupported=True))
def test_an_unsupported_pattern_finds_none_of_the_documented_items(
    declared: Table, pattern: Pattern, tables: Tables
) -> None:
    table, written = tables(declared)
    answer = IN_VAIN[declared.name][pattern.id]
    names = answer.by.split()
    missed = [r for r in answer.kinds(written) if set(names) <= r.values.keys()]
    assert len(missed) > 1
    for row in missed:
        found = ask(table, declared, pattern, *(row.values[n] for n in names))
        assert row.item not in found
        assert all("siteId" in item for item in found), "what was written before a renaming, and nothing else"


@pytest.mark.parametrize("pattern", ["franchise-siteId-index", "siteId-callStartTime-index"])
def test_the_indexes_on_a_renamed_attribute_hold_what_was_written_before(pattern: str, tables: Tables) -> None:
    declared = AUDITED.tables[0]
    table, written = tables(declared)
    by = IN_VAIN[declared.name][pattern].by.replace("account_id", "siteId")
    early = [r for r in written if "siteId" in r.values]
    assert len(early) == len(written) / 2
    for row in early:
        asked = tuple(row.values[n] for n in by.split())
        found = ask(table, declared, the(call_analytics.STACK.patterns, pattern), *asked)
        assert keyed(declared, found) == keyed(declared, [r.item for r in Answer(by).rows(early, asked)])


# What stands in the way of the unsupported ones, and nothing else ---------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pattern", "mended"),
    [
        (acs.USERS, "ACS1", {"responseEmail": "email"}),
        (acs.USERS, "userId-createdAt-index", {"userId": "id", "createdAt": "created_at"}),
        (call_analytics.ANALYSIS, "franchise-siteId-index", {"siteId": "account_id"}),
        (call_analytics.ANALYSIS, "siteId-callStartTime-index", {"siteId": "account_id"}),
    ],
)
def test_an_index_answers_once_its_items_carry_what_it_is_keyed_on(
    name: str, pattern: str, mended: dict[str, str], tables: Tables
) -> None:
    (declared,) = [t for s in ESTATE.stacks for t in s.tables if t.name == name]
    answer = IN_VAIN[name][pattern]
    items = [r.item for r in rows(declared) if set(mended.values()) <= r.item.keys()]
    items = [item | {new: item[old] for new, old in mended.items()} for item in items]
    table, written = tables.fresh(declared, f"mended-{pattern}", [Row("", item, item) for item in items])
    (asked_for,) = [p for _, t, p in every_pattern() if (t.name, p.id) == (name, pattern)]
    for row in written:
        asked = tuple(row.values[n] for n in answer.by.split())
        expected = [r.item for r in answer.rows(written, asked)]
        assert keyed(declared, ask(table, declared, asked_for, *asked)) == keyed(declared, expected)


def test_runs_by_type_cannot_share_gsi1_and_have_a_gsi3(tables: Tables) -> None:
    declared = miyabi.STACK.tables[0]
    pattern, running = the(miyabi.PATTERNS, "GSI1-AGENT_TYPE"), the(miyabi.PATTERNS, "AP5")
    table, written = tables.fresh(declared, "runs-by-type", rows(declared))
    before = ask(table, declared, running, "running")
    # Giving the attribute to the type takes the run away from the query by status: one value, one question.
    taken = {"Key": {k: before[0][k] for k in ("PK", "SK")}, "UpdateExpression": "SET GSI1PK = :k"}
    table.update_item(**taken, ExpressionAttributeValues={":k": "AGENT_TYPE#codegen"})
    assert len(ask(table, declared, pattern, "codegen")) == 1
    assert ask(table, declared, running, "running") == before[1:]
    # With an index of its own both questions are answered.
    fixed = replace(declared, indexes=(*declared.indexes, gsi("GSI3PK", "GSI3SK", name="GSI3")))
    runs = [
        replace(r, item={**r.item, "GSI3PK": f"AGENT_TYPE#{r.values['agentType']}", "GSI3SK": r.values["startedAt"]})
        for r in written
        if r.kind == "AGENT_EXECUTION"
    ]
    table, _ = tables.fresh(fixed, "with-gsi3", runs)
    found = ask(table, fixed, replace(pattern, index="GSI3"), "codegen")
    expected = [r.item for r in IN_VAIN[miyabi.TABLE][pattern.id].rows(runs, ("codegen",))]
    assert keyed(declared, found) == keyed(declared, expected)
    assert [i["GSI3SK"] for i in found] == sorted((i["GSI3SK"] for i in found), reverse=True)
    assert len(ask(table, fixed, running, "running")) == len(before)


def test_sessions_of_a_user_need_the_index_that_the_source_lacks(tables: Tables) -> None:
    """The documented query names no index: the table's key is another one, so the engine refuses it."""
    (declared,) = (t for t in acs.TABLES if t.name == acs.SESSIONS)
    table, written = tables(declared)
    documented = {
        "KeyConditionExpression": Key("user_id").eq("user-uuid"),
        "FilterExpression": Attr("is_active").eq(True),
    }
    assert refused(table.query, **documented) == "Query condition missed key schema element"
    active = [r.item for r in ANSWERS[acs.SESSIONS]["ACS4"].rows(written, ("user-uuid",))]
    assert keyed(declared, pages(table, "query", documented | {"IndexName": "user_id-index"})) == keyed(
        declared, active
    )
    assert {i["is_active"] for r in written if r.values["user_id"] == "user-uuid" for i in [r.item]} == {True, False}


def test_the_documented_e_mail_is_refused_because_a_key_cannot_be_boolean(tables: Tables) -> None:
    (declared,) = (t for t in acs.TABLES if t.name == acs.CONVERSATIONS)
    table, _ = tables.fresh(declared, "boolean-key", [])
    documented = ACS[acs.CONVERSATIONS]
    assert documented["is_first_email"] is True
    assert refused(table.put_item, Item=documented) == "Invalid attribute value type"
    table.put_item(Item=documented | {"is_first_email": 1})
    (entity,) = (e for e in acs.ENTITIES if e.table == acs.CONVERSATIONS)
    assert entity.booleans == ("is_first_email",)
    assert "Boolean" in acs.TYPES["is_first_email"].reason


def test_w12_the_index_tells_first_messages_of_an_account_from_those_that_follow(tables: Tables) -> None:
    (declared,) = (t for t in acs.TABLES if t.name == acs.CONVERSATIONS)
    table, written = tables(declared)
    (every,) = (p for p in acs.STACK.patterns_of(declared) if p.id == "associated_account-is_first_email-index")
    for first in (0, 1):
        found = ask(table, declared, replace(every, sort="{first}"), "account-uuid", first)
        wanted = Answer("associated_account is_first_email").rows(written, ("account-uuid", first))
        assert wanted
        assert keyed(declared, found) == keyed(declared, [r.item for r in wanted])


# As the documents write the requests ----------------------------------------------------------------------------------


REQUESTS: list[tuple[Stack, str, str, str | None, ConditionBase]] = [
    (acs.STACK, "ACS1", "user@example.com", "responseEmail-index", Key("responseEmail").eq("user@example.com")),
    (acs.STACK, "ACS2", "conv-uuid", None, Key("conversation_id").eq("conv-uuid")),
    (acs.STACK, "ACS3", "account-uuid", "associated_account-index", Key("associated_account").eq("account-uuid")),
    (miyabi.STACK, "AP2", USER, None, Key("PK").eq(f"USER#{USER}") & Key("SK").begins_with("REPO#")),
    (miyabi.STACK, "AP5", "running", "GSI1", Key("GSI1PK").eq("STATUS#running")),
    (miyabi.STACK, "AP9", "org-123", "GSI2", Key("GSI2PK").eq("ORG#org-123") & Key("GSI2SK").begins_with("USER#")),
]


@pytest.mark.parametrize(
    ("stack", "pattern", "asked", "index", "condition"), REQUESTS, ids=[pattern for _, pattern, *_ in REQUESTS]
)
def test_the_documented_request_and_the_pattern_find_the_same(
    stack: Stack, pattern: str, asked: str, index: str | None, condition: ConditionBase, tables: Tables
) -> None:
    declared_pattern = the(stack.patterns, pattern)
    (declared,) = (t for t in stack.tables if t.name == declared_pattern.table)
    table, _ = tables(declared)
    request: Json = {"KeyConditionExpression": condition} | ({"IndexName": index} if index else {})
    if pattern == "AP5":
        request["ScanIndexForward"] = False
    found = pages(table, "query", request)
    assert found == ask(table, declared, declared_pattern, asked)
    assert bool(found) == (declared_pattern.unsupported is None)


def test_the_documented_request_for_a_user_is_that_of_its_pattern() -> None:
    request = the(miyabi.PATTERNS, "AP1").request(miyabi.STACK.tables[0], {"userId": USER})
    assert request == ("get_item", {"Key": {"PK": f"USER#{USER}", "SK": "METADATA"}})


def test_pages_of_one_megabyte_come_back_whole_and_in_order(tables: Tables) -> None:
    """Without any Limit the engine ends a page at 1 MB: a reader that ignores LastEvaluatedKey loses the rest."""
    declared = miyabi.STACK.tables[0]
    big: list[Row] = []
    for n in range(25):
        values = {"repoId": REPO, "startedAt": iso(NOW + timedelta(minutes=n)), "execId": f"exec-{n:02}"}
        (own, _) = written(ENTITIES["AGENT_EXECUTION"], **values, status="done")
        own.item["Data"]["resultSummary"] = "x" * 100_000
        big.append(own)
    table, _ = tables.fresh(declared, "paging", big)
    pattern = the(miyabi.PATTERNS, "AP3")
    _, request = pattern.request(declared, {"repoId": REPO})
    first = table.query(**request)
    assert 0 < len(first["Items"]) < 25
    assert "LastEvaluatedKey" in first
    assert ask(table, declared, pattern, REPO) == [r.item for r in big]
    assert ask(table, declared, the(miyabi.PATTERNS, "AP5"), "done") == [r.item for r in big][::-1]


# callytics ------------------------------------------------------------------------------------------------------------


def test_the_engine_takes_every_declared_table(tables: Tables) -> None:
    for placed in ESTATE.placements([environments.PROD]):
        for declared in placed.tables:
            table = create(tables.dynamodb, declared, placed.fill(declared.name))
            assert len(table.global_secondary_indexes or []) == len(declared.indexes)
            table.delete()


def test_from_a_connection_to_its_store_as_the_relations_lead(tables: Tables) -> None:
    """A site id is an account's and no store's: the way from one to the other goes by the phone number."""
    stack = orange_theory.STACK
    numbers, assignments, stores = (
        tables(next(t for t in stack.tables if t.name == r.to_table)) for r in stack.relations
    )
    of = {t.name: t for t in stack.tables}
    account = numbers[1][0].values["providerAccountId"]
    reached = set()
    for line in ask(numbers[0], of[orange_theory.NUMBERS], the(stack.patterns, "NUMBERS-OF-ACCOUNT"), account):
        (assigned,) = ask(
            assignments[0], of[orange_theory.ASSIGNMENTS], the(stack.patterns, "STORE-OF-NUMBER"), line["phoneNumber"]
        )
        (store,) = ask(stores[0], of[orange_theory.STORES], the(stack.patterns, "STORE"), assigned["storeId"])
        reached.add(store["storeId"])
    assert STORE in reached
    assert ask(stores[0], of[orange_theory.STORES], the(stack.patterns, "STORE"), account) == []


def test_an_extension_is_a_number_or_an_empty_text_and_so_no_index_can_be_keyed_on_it(tables: Tables) -> None:
    (declared,) = (t for t in orange_theory.STACK.tables if t.name == orange_theory.NUMBERS)
    table, written = tables(declared)
    with_extension, without = (
        [r.item for r in written if (r.item["extensionId"] == "") is empty] for empty in (False, True)
    )
    for item in (with_extension[0], without[0]):
        assert table.get_item(Key={a.name: item[a.name] for a in declared.key.attributes})["Item"] == item
    for key, other, reason in (
        (gsi(number("extensionId"), name="by-extension"), without[0], "Type mismatch for Index Key"),
        (gsi("extensionId", name="by-extension"), with_extension[0], "Type mismatch for Index Key"),
        (gsi("extensionId", name="by-extension"), without[0], "empty string value"),
    ):
        indexed, _ = tables.fresh(replace(declared, indexes=(key,), mixed=()), "by-extension", [])
        assert reason in refused(indexed.put_item, Item=other)
        indexed.delete()


def test_an_index_on_a_dotted_name_does_not_reach_into_a_map(tables: Tables) -> None:
    """As the audit of 2026-03-02 found indexes without items: a name with a dot is a name."""
    (declared,) = (t for t in call_analytics.STACK.tables if t.name == call_analytics.ANALYSIS)
    call = {"telephonySessionId": "s-1", "callStartTime": iso(NOW)}
    nested = call | {"call_outcome": {"outcome_category": "booked"}}
    table, _ = tables.fresh(declared, "nested", [Row("", nested, nested)])
    patterns = call_analytics.STACK.patterns_of(declared)
    outcome = the(patterns, "call_outcome.outcome_category-callStartTime-index")
    assert ask(table, declared, outcome, "booked") == []
    table.put_item(Item=call | {"call_outcome.outcome_category": "booked"})
    assert len(ask(table, declared, outcome, "booked")) == 1


def test_the_two_steps_of_a_deletion(tables: Tables) -> None:
    """Protection is switched off as a step of its own: until then the engine keeps the table."""
    declared = AUDITED.tables[0]
    table, _ = tables.fresh(declared, AUDITED.fill(declared.name), rows(declared))
    client, name = tables.dynamodb.meta.client, {"TableName": table.name}
    client.update_table(**name, DeletionProtectionEnabled=True)
    assert "protected against deletion" in refused(client.delete_table, **name)
    assert len(table.scan()["Items"]) == ROWS
    client.update_table(**name, DeletionProtectionEnabled=False)
    client.delete_table(**name)
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_table(**name)


def test_the_checklist_of_the_audit_tells_protection_and_recovery(tables: Tables) -> None:
    """As found in 2026 and as put right. DynamoDB Local has no recovery, so that is asked of the emulator."""
    emulated = fresh_account().client("dynamodb")
    with pytest.raises(ClientError, match="UnknownOperationException"):
        tables.dynamodb.meta.client.describe_continuous_backups(TableName="any")
    for declared in AUDITED.tables:
        assert Guard.DELETION_PROTECTION | Guard.PITR in AUDITED.required(declared)
        name = {"TableName": AUDITED.fill(declared.name)}

        def protected(client: Any, name: Json = name) -> bool:
            return bool(client.describe_table(**name)["Table"].get("DeletionProtectionEnabled", False))

        def recovery(name: Json = name) -> str:
            backups = emulated.describe_continuous_backups(**name)["ContinuousBackupsDescription"]
            return str(backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"])

        emulated.create_table(**schema(declared, name["TableName"]))
        create(tables.dynamodb, declared, name["TableName"])
        both = (tables.dynamodb.meta.client, emulated)
        assert [protected(client) for client in both] == [False, False]
        assert recovery() == "DISABLED"
        for client in both:
            client.update_table(**name, DeletionProtectionEnabled=True)
        emulated.update_continuous_backups(
            **name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        assert [protected(client) for client in both] == [True, True]
        assert recovery() == "ENABLED"


# Miyabi's samples -----------------------------------------------------------------------------------------------------

EVERY_SAMPLE = [pytest.param(kind, n, id=f"{kind} {n}") for kind, items in SAMPLES.items() for n in range(len(items))]


def flat(item: Json) -> set[str]:
    beside = item.keys() - {"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK", "TTL"}
    return beside | {f"Data.{name}" for name in item["Data"]}


def test_every_entity_has_the_attributes_of_its_samples() -> None:
    assert SAMPLES.keys() == ENTITIES.keys()
    for kind, entity in ENTITIES.items():
        left_out = {f"Data.{name}" for name in entity.departs}
        assert set(entity.attributes) == set[str]().union(*map(flat, SAMPLES[kind])) - left_out
    for acs_entity in acs.ENTITIES:
        assert {*acs_entity.items[0].keys, *acs_entity.attributes} == ACS[acs_entity.table].keys()


@functools.cache
def templates() -> Any:
    return json.loads(miyabi.STACK.processors[0].variables["ENTITIES"])


def judged(item: Json) -> str | None:
    """Why the deployed stream processor refuses an item, or None."""
    sent: list[str] = []
    process({"Records": [record(1, new=item)]}, templates(), sent.append)
    return sent[0] if sent else None


@pytest.mark.parametrize(("kind", "number"), EVERY_SAMPLE)
def test_a_documented_sample_is_refused_exactly_for_what_its_entity_leaves_out(kind: str, number: int) -> None:
    """Two are refused today, for a secret; as they are declared, without it, none is."""
    entity, sample = ENTITIES[kind], SAMPLES[kind][number]
    reason = judged(sample)
    assert (reason is None) == (not entity.departs)
    for name, why in entity.departs.items():
        assert reason is not None
        assert f"{kind} carries {name}; " in reason
        assert "token" in why
    if entity.departs:  # secrets are referred to, and not stored
        assert 812 in entity.sources[Fact.DEPARTURE]  # type: ignore[operator]
    assert sorted(k for k, e in ENTITIES.items() if e.departs) == ["LINE_MESSAGE", "USER"]
    (own, *_) = [r for r in rows(miyabi.STACK.tables[0]) if r.kind.partition("/")[0] == kind]
    assert judged(own.item) is None


def instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def test_the_documented_ttls_are_in_the_past_and_the_computed_ones_ahead() -> None:
    """Every sample with a TTL was to be deleted when it was written, or before."""
    for kind, entity in ENTITIES.items():
        for sample in SAMPLES[kind]:
            documented = None
            if "TTL" in sample:
                created = instant(sample["CreatedAt"])
                documented = (created, sample["TTL"])
                assert sample["TTL"] < created.timestamp()
                ahead = entity.ttl(created)
                assert ahead is not None
                assert ahead - created.timestamp() in (86_400, 30 * 86_400)
            assert entity.documented_ttl == documented
            assert bool(documented) == bool(entity.expires_after)
    for entity in acs.ENTITIES:
        sample = ACS[entity.table]
        assert bool(entity.documented_ttl) == ("ttl" in sample) == bool(entity.expires_after)
        if entity.documented_ttl:
            created = instant(sample["created_at"])
            assert entity.documented_ttl == (created, sample["ttl"])
            assert sample["ttl"] <= created.timestamp()
            assert entity.ttl(created) == instant(sample["expires_at"]).timestamp()


# Miyabi's transaction -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def joining(tables: Tables) -> tuple[Any, list[Json], list[Json]]:
    """A table with an organization in it, the request of the documented transaction, and the items that it writes."""
    (organization,) = written(ENTITIES["ORGANIZATION"], orgId="org-123")
    table, _ = tables.fresh(miyabi.STACK.tables[0], "joining", [organization])
    (join,) = miyabi.STACK.transactions
    values = {"userId": USER, "orgId": "org-123"}
    items = [written(ENTITIES[kind], **values)[0].item for kind in join.entities]
    more = {i["EntityType"]: {k: v for k, v in i.items() if k not in ("PK", "SK")} for i in items}
    return table, join.request(miyabi.ENTITIES, table.name, values, more), items


@pytest.mark.parametrize(
    ("broken", "reasons"),
    [
        ("user exists", ["ConditionalCheckFailed", "None"]),
        ("membership exists", ["None", "ConditionalCheckFailed"]),
        ("no organization", ["None", "None", "ConditionalCheckFailed"]),
        ("a wrong type", ["None", "ValidationError"]),
    ],
)
def test_a_user_and_its_membership_are_written_both_or_neither(
    broken: str, reasons: list[str], joining: tuple[Any, list[Json], list[Json]]
) -> None:
    table, request, items = joining
    client, name = table.meta.client, {"TableName": table.name}
    keys = [{k: i[k] for k in ("PK", "SK")} for i in items]
    user, member = request

    def there() -> list[Json | None]:
        return [table.get_item(Key=k).get("Item") for k in keys]

    once = {"ConditionExpression": "attribute_not_exists(PK)"}
    in_the_way: list[Json] = []
    match broken:
        case "user exists" | "membership exists":
            in_the_way = [keys[broken == "membership exists"] | {"before": True}]
            failing = [{"Put": {**put["Put"], **once}} for put in (user, member)]
        case "no organization":
            check = {"Key": {"PK": "ORG#org-9", "SK": "METADATA"}, "ConditionExpression": "attribute_exists(PK)"}
            failing = [user, member, {"ConditionCheck": check | name}]
        case _:
            failing = [user, {"Put": {**name, "Item": items[1] | {"GSI2PK": 7}}}]
    for item in in_the_way:
        table.put_item(Item=item)
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(TransactItems=failing)
    assert [r["Code"] for r in cancelled.value.response["CancellationReasons"]] == reasons
    assert [i for i in there() if i] == in_the_way
    for item in in_the_way:
        table.delete_item(Key={k: item[k] for k in ("PK", "SK")})
    client.transact_write_items(TransactItems=request)
    assert there() == items
    declared = miyabi.STACK.tables[0]
    assert ask(table, declared, the(miyabi.PATTERNS, "AP9"), "org-123") == items[:1]
    assert ask(table, declared, the(miyabi.PATTERNS, "ORG-MEMBER"), "org-123") == items[1:]
    for key in keys:
        table.delete_item(Key=key)
