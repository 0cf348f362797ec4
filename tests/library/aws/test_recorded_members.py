"""A recorded account with each member of each answer dropped, nulled and retyped: no crash, and no new pass."""

from __future__ import annotations

import pytest
from recorded import Judge, Oddity, members, oddities

from holdfast.aws.calls import IDENTITY
from holdfast.shared.calls import Call

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
