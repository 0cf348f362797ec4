"""Since when a contract has its values, and which commit's contract is deployed: told from real repositories."""

from __future__ import annotations

import copy
import os
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from histories import commit, contract, protected, table, write
from repositories import git
from support import ROOT, Json

from holdfast.contract import deployed, history
from holdfast.contract.deployed import Running, running
from holdfast.contract.git import git as ask
from holdfast.contract.history import History
from holdfast.contract.since import NOT_ASKED, UNCOMMITTED, since
from holdfast.unknown import Unknown

PROTECTED = "AWS::DynamoDB::Table Properties/DeletionProtectionEnabled"
RECOVERED = "AWS::DynamoDB::Table Properties/PointInTimeRecoverySpecification"
ENCRYPTED = "AWS::DynamoDB::Table Properties/SSESpecification"
ROTATED = "AWS::KMS::Key Properties/EnableKeyRotation"
ALARMED = "AWS::CloudWatch::Alarm Properties/Threshold"


def day(number: int) -> datetime:
    """A day of January; the commits of these tests are a few days apart."""
    return datetime(2026, 1, number, 12, tzinfo=UTC)


def bare(stack: str = "Shop-prod") -> Json:
    return contract(stack, Orders=table())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def read(folder: Path) -> History:
    found = history.read(folder)
    assert isinstance(found, History)
    return found


def told(folder: Path, *paths: str, stack: str = "Shop-prod", name: str | None = "orders") -> tuple[date | None, str]:
    """The day of the commit since which the contract has what these places hold, and what is said of it."""
    found = since(read(folder), stack, name, paths or (PROTECTED,), None)
    return (found.commit.when.date() if found.commit else None), found.why


def exactly(number: int) -> tuple[date, str]:
    return day(number).date(), ""


# Since when


def test_a_value_is_as_old_as_the_commit_that_set_it_whatever_changed_beside_it(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    commit(repository, day(5), Shop_prod=protected())
    commit(repository, day(7), Else=None)
    commit(repository, day(9), Shop_prod=protected(BillingMode="PAY_PER_REQUEST"))
    assert told(repository) == exactly(5)
    assert told(repository, RECOVERED) == exactly(1)  # its absence is a value, too
    assert told(repository, PROTECTED, "AWS::DynamoDB::Table Properties/BillingMode") == exactly(9)
    assert told(repository, "AWS::Nothing::Here Properties/X") == exactly(1)  # the table itself
    assert told(repository, "stack environment", name=None) == exactly(1)
    assert told(repository, name="unheard-of")[0] is None


def test_a_resource_beside_the_store_is_followed_from_it(repository: Path) -> None:
    def made(*, rotates: bool, at: int, guarded: bool = False) -> Json:
        key = {"Type": "AWS::KMS::Key", "Properties": {"EnableKeyRotation": rotates}}
        other = {"Type": "AWS::KMS::Key", "Properties": {"EnableKeyRotation": True, "Description": str(at)}}
        alarm = {"Type": "AWS::CloudWatch::Alarm", "Properties": {"Threshold": at, "Of": {"Ref": "Orders"}}}
        own = table(SSESpecification={"KMSMasterKeyId": {"Fn::GetAtt": ["Key", "Arn"]}})
        others = table("others", DeletionProtectionEnabled=guarded, Replaces="orders")
        return contract(Orders=own, Key=key, Other=other, Alarm=alarm, Others=others)

    commit(repository, day(1), Shop_prod=made(rotates=False, at=1))
    commit(repository, day(3), Shop_prod=made(rotates=True, at=1))
    commit(repository, day(5), Shop_prod=made(rotates=True, at=2))
    assert told(repository, ROTATED) == exactly(3)
    assert told(repository, ALARMED) == exactly(5)
    assert told(repository, ALARMED, name="others") == exactly(1)
    commit(repository, day(7), Shop_prod=made(rotates=True, at=2, guarded=True))
    assert told(repository, PROTECTED) == exactly(1)  # another table that names it is not it


def test_a_renamed_file_is_followed_and_so_are_two_at_once(repository: Path) -> None:
    for number, stack in enumerate(("Old-prod", "Old-test"), start=1):
        commit(repository, day(number), **{stack: contract(stack, Orders=table(f"orders-{stack[-4:]}"))})
    prod, test = (
        contract(f"New-{env}", Orders=table(f"orders-{env}"), Extra=table(f"extra-{env}")) for env in ("prod", "test")
    )
    commit(repository, day(5), Old_prod=None, Old_test=None, New_prod=prod, New_test=test)
    for number, env in enumerate(("prod", "test"), start=1):
        assert told(repository, stack=f"New-{env}", name=f"orders-{env}") == exactly(number)
        assert told(repository, stack=f"New-{env}", name=f"extra-{env}") == exactly(5)


def test_a_renamed_logical_id_is_followed_and_what_refers_to_it_has_not_changed(repository: Path) -> None:
    def made(own: str, key: str) -> Json:
        encrypted = table(SSESpecification={"KMSMasterKeyId": {"Fn::GetAtt": [key, "Arn"]}})
        rotated = {"Type": "AWS::KMS::Key", "Properties": {"EnableKeyRotation": True}}
        return contract("Shop-prod", "1", **{own: encrypted, key: rotated})

    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(2), Shop_prod=made("Orders", "Key"))
    commit(repository, day(3), Shop_prod=made("Orders", "KeyA1B2"))
    commit(repository, day(5), Shop_prod=made("Orders2", "KeyA1B2"))
    assert told(repository, ENCRYPTED, ROTATED) == exactly(2)
    assert told(repository) == exactly(1)


def test_what_is_deleted_and_comes_back_begins_anew(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=protected(), Else=bare("Else"))
    commit(repository, day(3), Shop_prod=None)
    commit(repository, day(5), Shop_prod=protected())
    assert told(repository) == exactly(5)
    commit(repository, day(7), Shop_prod=contract(Others=table("others")))
    commit(repository, day(9), Shop_prod=protected())
    assert told(repository) == exactly(9)


def test_of_a_revert_and_what_applies_it_again_the_later_counts(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=protected())
    git(repository, "revert", "--no-edit", "HEAD", when=day(5))
    git(repository, "revert", "--no-edit", "HEAD", when=day(7))
    assert told(repository) == exactly(7)


LANDED = {
    "merge": ["merge -q --no-ff feature"],
    "squash": ["merge -q --squash feature", "commit -q -m squashed"],
    "rebase": ["rebase -q main feature", "checkout -q main", "merge -q --ff-only feature"],
}


@pytest.mark.parametrize("how", LANDED)
def test_a_branch_counts_when_it_lands(repository: Path, how: str) -> None:
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, day(3), Shop_prod=protected())
    git(repository, "checkout", "-q", "main")
    commit(repository, day(5), Else=protected("Else"))
    for command in LANDED[how]:
        git(repository, *command.split(), when=day(9))
    assert told(repository) == exactly(9)
    assert told(repository, stack="Else") == exactly(5)


@pytest.mark.parametrize("back", ["--ff-only", "--no-ff"])
def test_main_that_was_merged_into_a_feature_keeps_its_own_dates(repository: Path, back: str) -> None:
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    git(repository, "checkout", "-q", "-b", "feature")
    commit(repository, day(3), Shop_prod=protected())
    git(repository, "checkout", "-q", "main")
    commit(repository, day(5), Else=protected("Else"))
    git(repository, "checkout", "-q", "feature")
    git(repository, "merge", "-q", "main", when=day(7))
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", back, "feature", when=day(9))
    assert told(repository, stack="Else") == exactly(5)
    assert told(repository) == exactly(7 if back == "--ff-only" else 9)


@pytest.mark.parametrize("branch", ["main", "trunk"])
def test_a_pull_into_the_default_branch_is_dated_by_the_merge(repository: Path, tmp_path: Path, branch: str) -> None:
    """Also where git writes into which branch it was, as of every name but main and master."""
    git(repository, "checkout", "-q", "-b", branch) if branch != "main" else None
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    git(tmp_path, "clone", "-q", str(repository), "own")
    git(tmp_path, "clone", "-q", str(repository), "a fork")
    commit(tmp_path / "a fork", day(5), Shop_prod=protected())
    commit(tmp_path / "own", day(7), Else=protected("Else"))
    git(tmp_path / "own", "pull", "-q", "--no-rebase", "--no-edit", str(tmp_path / "a fork"), branch, when=day(9))
    assert told(tmp_path / "own") == exactly(9)
    assert told(tmp_path / "own", stack="Else") == exactly(7)


def test_a_pull_of_the_default_branch_into_a_feature_keeps_its_dates(repository: Path, tmp_path: Path) -> None:
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    git(tmp_path, "clone", "-q", str(repository), "own")
    commit(repository, day(5), Else=protected("Else"))
    own = tmp_path / "own"
    git(own, "checkout", "-q", "-b", "feature")
    commit(own, day(3), Shop_prod=protected())
    git(own, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main", when=day(7))
    git(own, "checkout", "-q", "main")
    git(own, "merge", "-q", "--ff-only", "feature")
    assert told(own, stack="Else") == exactly(5)
    assert told(own) == exactly(7)


def test_a_shallow_clone_says_at_least_and_how_to_mend_it(repository: Path, tmp_path: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=protected())
    commit(repository, day(5), Else=bare("Else"))
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    assert told(tmp_path / "shallow") == (day(5).date(), history.SHALLOW)
    git(tmp_path / "shallow", "fetch", "-q", "--depth", "3")
    assert told(tmp_path / "shallow") == exactly(3)
    assert told(tmp_path / "shallow", RECOVERED) == exactly(1)  # the whole line is there
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repository}", "deeper")
    assert told(tmp_path / "deeper") == (day(3).date(), history.SHALLOW)
    assert told(tmp_path / "deeper", stack="Else") == exactly(5)  # it came after that
    git(tmp_path / "deeper", "fetch", "-q", "--unshallow")
    assert told(tmp_path / "deeper") == exactly(3)


def test_what_the_clone_lacks_is_told_as_at_least(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=protected())
    commit(repository, day(3), Shop_prod=protected(BillingMode="PAY_PER_REQUEST"))
    lost = ask(repository, "rev-parse", "HEAD~1:snapshots/Shop-prod.json").strip()
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    assert told(repository) == (day(3).date(), history.LACKING)


def test_what_is_not_committed_has_no_age_and_the_rest_keeps_its_own(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    write(repository, Shop_prod=protected(), New=protected("New"))
    assert told(repository) == (None, UNCOMMITTED)
    assert told(repository, RECOVERED) == exactly(1)
    assert told(repository, stack="New") == (None, UNCOMMITTED)
    assert read(repository).says.endswith("(main); 2 contracts of the working tree differ from it")
    path = repository / "snapshots" / "Shop-prod.json"
    write(repository, Shop_prod=bare())
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # line ends are git's affair
    assert told(repository) == exactly(1)


def test_a_contract_that_asks_for_no_more_than_is_deployed_dates_no_gap(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=protected())
    for live, expected in ((bare(), (day(3), "")), (protected(), (None, NOT_ASKED))):
        found = since(read(repository), "Shop-prod", "orders", (PROTECTED,), live["template"])
        assert (found.commit.when if found.commit else None, found.why) == expected


def test_another_default_branch_is_known_from_the_remote(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "-q", "-b", "trunk")
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    git(tmp_path, "clone", "-q", str(repository), "clone")
    clone = tmp_path / "clone"
    assert read(clone).branch == "trunk"
    git(clone, "checkout", "-q", "-b", "feature")
    assert read(clone).branch == "trunk"  # its last commit is on it
    commit(clone, day(3), Shop_prod=protected())
    assert (read(clone).branch, read(clone).merged) == ("feature, which is not on trunk", False)
    git(clone, "checkout", "-q", "trunk")
    commit(clone, day(5), Else=protected("Else"))
    git(clone, "checkout", "-q", "feature")
    git(clone, "merge", "-q", "trunk", when=day(7))
    git(clone, "checkout", "-q", "trunk")
    git(clone, "merge", "-q", "--ff-only", "feature")
    assert told(clone, stack="Else") == exactly(5)
    git(clone, "checkout", "-q", "--detach")
    assert read(clone).branch.startswith("no branch, which is not on trunk")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/elsewhere")
    git(clone, "remote", "remove", "origin")
    assert read(clone).branch == "no branch; no default branch is known here"


def test_the_former_format_is_read_and_its_change_of_form_is_no_change(repository: Path) -> None:
    def former(made: Json) -> Json:
        resources = copy.deepcopy(made["template"]["Resources"])
        for resource in resources.values():
            tags = resource["Properties"]["Tags"]
            resource["Properties"]["Tags"] = [{"Key": k, "Value": v} for k, v in tags.items()]
        stack = made["stack"] | {"terminationProtection": False}
        return {"acknowledged": {}, "stack": stack, "template": {"Resources": resources}}

    commit(repository, day(1), Shop_prod=former(bare()))
    commit(repository, day(3), Shop_prod=former(protected()))
    now = protected()
    now["stack"]["dependencies"] = ["Else"]  # which the former format did not tell
    commit(repository, day(5), Shop_prod=now)
    assert told(repository) == exactly(3)
    assert told(repository, "AWS::DynamoDB::Table Properties/Tags") == exactly(1)
    assert told(repository, "stack dependencies", "stack terminationProtection", name=None) == exactly(1)
    found = running(read(repository), "Shop-prod", protected()["template"], day(4), succeeded=True)
    assert (found.commit and found.commit.when, found.pending) == (day(3), ())


def test_this_repository_dates_its_tables_before_the_change_of_form() -> None:
    found, stack = history.read(ROOT), "CallAnalytics-Prod-Storage"
    former = [] if isinstance(found, Unknown) else [v for v in found.versions(stack) if "version" not in v.contract]
    if not former:
        pytest.skip("a checkout without its history")
    dated = since(found, stack, "call-analytics-prod-call-events-us-east-1", (PROTECTED,), None)
    assert dated.commit == former[-1].commit


def test_days_are_those_of_utc_and_a_date_beyond_the_calendar_stops_nothing(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, datetime(2026, 1, 4, 3, tzinfo=timezone(timedelta(hours=9))), Shop_prod=protected())
    assert told(repository) == exactly(3)
    raw = ask(repository, "cat-file", "commit", "HEAD").replace(" +0900", "99999999999 +0900")
    (repository / "raw").write_text(raw)
    made = ask(repository, "hash-object", "-t", "commit", "--literally", "-w", "raw").strip()
    git(repository, "update-ref", "HEAD", made)
    assert told(repository)[0] == date(9999, 12, 31)


def test_a_version_that_cannot_be_parsed_is_passed_over(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=protected())
    (repository / "snapshots" / "Shop-prod.json").write_text("<<<<<<< ours\n=======\n>>>>>>> theirs\n")
    commit(repository, day(3))
    assert told(repository)[1].startswith("no contract of Shop-prod that can be read is committed")
    commit(repository, day(5), Shop_prod=protected())
    assert told(repository) == exactly(1)


def test_contracts_of_a_folder_of_the_repository_are_those_of_that_folder(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=protected())
    (repository / "infra" / "app").mkdir(parents=True)
    commit(repository / "infra", day(3), Shop_prod=protected())
    assert told(repository / "infra" / "app") == exactly(3)
    assert told(repository) == exactly(1)


def test_a_folder_that_moved_is_followed(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare(), Else=bare("Else"))
    commit(repository, day(3), Shop_prod=protected())
    for number, (old, new) in enumerate([("snapshots", "infra/snapshots"), ("infra", "apps/infra")]):
        (repository / new).parent.mkdir(parents=True, exist_ok=True)
        git(repository, "mv", old, new)
        git(repository, "commit", "-q", "-m", "move", when=day(5 + number))
    assert told(repository / "apps" / "infra") == exactly(3)
    assert told(repository / "apps" / "infra", stack="Else") == exactly(1)


def test_git_s_own_variables_do_not_lead_elsewhere(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside of a hook git sets them."""
    commit(repository, day(1), Shop_prod=protected())
    monkeypatch.setenv("GIT_DIR", "nowhere")
    assert told(repository) == exactly(1)


def test_what_stands_in_for_commits_is_not_believed(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=protected())
    commit(repository, day(3), Shop_prod=protected(BillingMode="PAY_PER_REQUEST"))
    head = ask(repository, "rev-parse", "HEAD").strip()
    (repository / ".git" / "info" / "grafts").write_text(f"{head}\n")
    tree = ask(repository, "rev-parse", "HEAD^{tree}").strip()
    (repository / "raw").write_text(f"tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nforged\n")
    forged = ask(repository, "hash-object", "-t", "commit", "-w", "raw").strip()
    assert told(repository) == exactly(1)
    git(repository, "replace", head, forged)
    assert told(repository) == exactly(1)


def test_without_contracts_or_commits_or_git_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def why(folder: Path) -> str:
        found = history.read(folder)
        assert isinstance(found, Unknown)
        assert since(found, "Shop-prod", "orders", (PROTECTED,), None).why == found.reason
        return found.reason

    (tmp_path / ".git").mkdir()  # or the folders above would be searched, too
    assert why(tmp_path).startswith("there are no contracts here (no snapshots/*.json)")
    write(tmp_path, Shop_prod=bare())
    assert why(tmp_path) == f"{tmp_path} is not in a git repository that can be read"
    (tmp_path / ".git").rmdir()
    git(tmp_path, "init", "-q")
    assert why(tmp_path) == "the repository has no commit yet"
    if os.getuid() == 0:
        os.chown(tmp_path, 12345, 12345)
        os.chown(tmp_path / ".git", 12345, 12345)
        assert f"git config --global --add safe.directory {tmp_path}" in why(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert why(tmp_path) == "git is not installed"


# Which commit is deployed


def runs(folder: Path, template: Json, updated: int, *, succeeded: bool = True) -> Running:
    return running(read(folder), "Shop-prod", template["template"], day(updated), succeeded=succeeded)


def test_a_stack_runs_the_latest_contract_or_one_before_it(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=protected())
    commit(
        repository, day(5), Shop_prod=protected(PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})
    )
    commit(repository, day(7), Shop_prod=protected(on=False, BillingMode="PAY_PER_REQUEST"))
    found = runs(repository, bare(), 2)
    assert (found.commit and found.commit.when, found.behind) == (day(1), 3)
    shas = ask(repository, "log", "--reverse", "--format=%h", "--abbrev=7").split()
    assert found.told(day(13)) == (
        f"runs the contract of {shas[0]} (2026-01-01), 3 contract changes behind; merged and not deployed for 10 days: "
        f"deletion protection on orders ({shas[1]}); point-in-time recovery on orders ({shas[2]}); "
        f"no deletion protection and point-in-time recovery on orders ({shas[3]})"
    )
    latest = runs(repository, protected(on=False, BillingMode="PAY_PER_REQUEST"), 8)
    assert latest.told(day(13)) == f"runs the contract of {shas[3]} (2026-01-07), which is the latest"


def test_a_key_and_a_recovery_period_that_are_not_deployed_are_told(repository: Path) -> None:
    recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    longer = recovery | {"RecoveryPeriodInDays": 30}
    own_key = {"SSEEnabled": True, "KMSMasterKeyId": {"Ref": "Key"}}
    commit(repository, day(1), Shop_prod=protected(PointInTimeRecoverySpecification=recovery))
    commit(repository, day(3), Shop_prod=protected(PointInTimeRecoverySpecification=longer, SSESpecification=own_key))
    found = runs(repository, protected(PointInTimeRecoverySpecification=recovery), 2)
    assert [(p.says, p.protects) for p in found.pending] == [
        ("recovery period and customer-managed key on orders", True)
    ]


def test_of_several_that_match_the_last_successful_update_decides(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=protected())
    commit(repository, day(5), Shop_prod=bare())
    commit(repository, day(7), Shop_prod=bare() | {"code": {"Handler": {"Code": {"files": "2"}}}})

    def days(found: Running) -> tuple[int | None, ...]:
        return *(c.when.day if c else None for c in (found.commit, found.first)), found.behind

    assert days(runs(repository, bare(), 2)) == (1, None, 3)
    assert days(runs(repository, bare(), 6)) == (5, None, 1)
    assert days(runs(repository, bare(), 8)) == (7, None, 0)
    # That an update was rolled back says only that the last that was not is older.
    assert days(runs(repository, bare(), 8, succeeded=False)) == (7, 1, 0)
    assert days(runs(repository, bare(), 2, succeeded=False)) == (1, None, 3)
    assert "or one like it, back to" in runs(repository, bare(), 8, succeeded=False).told(day(9))
    assert days(runs(repository, protected(), 2)) == (3, None, 2)  # it was deployed before it was merged


def test_what_was_not_reviewed_is_told_with_the_nearest_and_what_differs(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=contract(Orders=table(), Others=table("others"), More=table("more")))
    strange = table(A=1, B=2, C=3, D=4)
    found = runs(repository, contract(Orders=strange), 4)
    sha = ask(repository, "rev-parse", "--short=7", "HEAD~1").strip()
    assert found.commit is None
    assert found.told(day(5)) == (
        f"runs what is not a reviewed contract: the nearest is {sha} (2026-01-01), these properties differ: "
        "Resources/Orders/Properties/A, Resources/Orders/Properties/B, Resources/Orders/Properties/C and 1 more"
    )


def test_what_a_deployed_template_cannot_show_does_not_tell_contracts_apart(repository: Path) -> None:
    digest, other = "<code>", "cd" * 32  # as a contract has it, and as CloudFormation answers

    def made(note: str, hash_: str, *, sets: bool = True) -> Json:
        handler = {
            "Type": "AWS::Lambda::Function",
            "Properties": {"Description": note, "Code": {"S3Key": f"{hash_}.zip"}},
        }
        names = ["B", note] if sets else [note, "B"]
        return contract(Orders=table(Description=note), Handler=handler, Role={
            "Type": "AWS::IAM::Role",
            "Properties": {"AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Action": names}]}},
        })  # fmt: skip

    commit(repository, day(1), Shop_prod=made("é→a", digest))
    for answered in (made("é→a", other, sets=False), made("??a", other)):
        template = deployed.normal(answered["template"])
        assert not isinstance(template, Unknown)
        assert runs(repository, {"template": template}, 2).commit
    wrong = deployed.normal(made("a?", other)["template"])
    assert not isinstance(wrong, Unknown)
    assert runs(repository, {"template": wrong}, 2).commit is None
    commit(repository, day(3), Shop_prod=made("a?", digest))
    accented = deployed.normal(made("aé", other)["template"])
    assert not isinstance(accented, Unknown)
    assert runs(repository, {"template": accented}, 4).commit is None  # a question mark of ours stands for itself


def test_what_no_deploy_brings_does_not_wait_for_one(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    commit(repository, day(3), Shop_prod=bare() | {"acknowledged": {"because": {"AwsSolutions-X": ["Shop-prod/X"]}}})
    assert runs(repository, bare(), 2).told(day(5)).endswith("which is the latest")


def test_what_cannot_be_compared_is_unknown(repository: Path) -> None:
    commit(repository, day(1), Shop_prod=bare())
    deep: Json = {}
    for _ in range(200):
        deep = {"a": deep}
    template = deployed.normal({"Resources": {"A": {"Type": "T", "Properties": deep}}})
    found = running(read(repository), "Shop-prod", template, day(2), succeeded=True)
    assert "nests deeper" in found.told(day(3))
    for stack, known in (("Else", read(repository)), ("Shop-prod", Unknown("no git"))):
        assert running(known, stack, bare()["template"], day(2), succeeded=True).commit is None
