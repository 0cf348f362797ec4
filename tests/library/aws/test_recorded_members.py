"""A recorded account with each member of each answer dropped, nulled and retyped: no crash, and no new pass."""

from __future__ import annotations

import base64

import pytest
from recorded import Judge, Oddity, members, oddities
from support import Json

from holdfast.aws.calls import IDENTITY
from holdfast.shared.calls import Call
from holdfast.verdict import Outcome

SHARE = 20  # every so-many-th that may say something new is judged here, and all by `make fuzz`


def test_recorded_members_dropped_nulled_and_retyped_crash_nothing_and_pass_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge = Judge()
    assert judge.account.unreadable == ()
    through: list[Oddity] = []
    refused: dict[Call, Oddity] = {}  # all of an operation say the same: it is unknown
    every = 0
    for odd in oddities():
        every += 1
        if judge.gets_through(odd):
            through.append(odd)
        else:
            refused[odd.asked[0]] = odd
    judged = [*through, *refused.values()][::SHARE]
    with capsys.disabled():
        print(f"\n{every} odd members of answers: {every - len(through)} refused, {len(judged)} judged")
    assert every > 2000
    assert len(through) < every / 2
    assert {str(o): found for o in judged if (found := judge.judge(o))} == {}


def test_l33_nothing_in_an_answer_steers_the_terminal() -> None:
    judge, hostile = Judge(), "\x1b[2J\u202e\x9b\nFAIL"
    texts = [
        Oddity(asked, path, "changed", value + hostile)
        for asked, path, value in members()
        if type(value) is str and asked[0] is not IDENTITY  # an account is called by digits, or not read
    ]
    assert len(texts) > 200
    for turn in range(4):  # all at once would leave no stack in which to look for the rest
        judge.judge(*(odd for n, odd in enumerate(texts) if n % 4 == turn), written=True)


BOMBS = ("[" * 50_000, '{"a":' * 5_000 + "1" + "}" * 5_000, '{"Statement": [], "Statement": []}', "odd")


@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_a_policy_of_an_answer_that_is_a_bomb_is_unknown(bomb: str) -> None:
    text: Json = {"Policy": bomb, "Configs": base64.b64encode(bomb.encode()).decode()}
    text["ServerProperties"] = b"\xff"
    odd = [Oddity(asked, path, "changed", text[path[-1]]) for asked, path, _ in members() if path[-1] in text]
    assert len({o.asked[0].operation for o in odd}) == 4
    judge = Judge()
    found = judge.changes(*odd)
    assert {about[0] for about, said in found.items() if Outcome.UNKNOWN in said} >= {
        "HF009",
        "HF515",
        "HF527",
        "HF532",
    }
    assert Outcome.FAIL not in set[Outcome]().union(*found.values())


@pytest.mark.parametrize(
    ("operation", "member", "rule"),
    [
        ("DescribeContinuousBackups", "PointInTimeRecoveryStatus", "HF004"),
        ("DescribeTimeToLive", "TimeToLiveStatus", "HF006"),
        ("DescribeTable", "Status", "HF007"),
    ],
)
def test_a_status_that_was_never_heard_of_is_neither_on_nor_off(operation: str, member: str, rule: str) -> None:
    judge = Judge()
    odd = [
        Oddity(asked, path, "changed", "HIBERNATING")
        for asked, path, _ in members()
        if asked[0].operation == operation and path[-1] == member and "WarmThroughput" not in path
    ]
    assert odd
    found = judge.changes(*odd)
    assert {Outcome.UNKNOWN} in [said for about, said in found.items() if about[0] == rule]
