"""`holdfast diff` and `accept` on real git repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from accepted import LOGINS, NEWS, STACKS, edit, on_main, tables, unprotect
from declare import SHOP
from repositories import commit, git
from shop_synth import accepted_texts
from support import ROOT, Json

from holdfast.cli import main
from holdfast.contract import files, history, make
from holdfast.contract.git import commit as committed
from holdfast.contract.git import files_at
from holdfast.contract.git import git as ask
from holdfast.contract.since import since
from holdfast.rules import BY_ID

TABLE = "newsletter-eu-west-1"
Diff = Callable[..., tuple[int, str, str]]


def purpose(contract: Json) -> None:
    tables(contract)[0]["Properties"]["Tags"]["shop:team"] = "another team"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return on_main(tmp_path / "repository")


@pytest.fixture
def diff(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Diff:
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)

    def run(*arguments: str, folder: Path = repository) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        code = main(["diff", *arguments])
        return code, *capsys.readouterr()

    return run


def test_a_weakening_on_a_branch_is_told_against_where_it_left_main(repository: Path, diff: Diff) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    assert diff()[0] == 0
    edit(repository, NEWS, unprotect)  # not committed: the working tree counts
    code, out, err = diff()
    assert (code, err) == (1, "1 weakened; 1 change without an approval\n")
    first, *rest = out.splitlines()
    assert first.endswith(", where this left main")
    assert rest == [
        f"WEAKENED  {TABLE} in {NEWS}",
        "          deletion protection is lost: Properties/DeletionProtectionEnabled true → false",
        "          cannot be approved (DP): personal durable data in production keeps DP, RETAIN and CMK",
    ]
    commit(repository, "unprotect")
    assert diff()[:2] == (code, out)
    (repository / "deep" / "er").mkdir(parents=True)
    assert diff(folder=repository / "deep" / "er")[0] == 1


def test_what_main_did_meanwhile_is_not_the_branchs(repository: Path, diff: Diff) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    edit(repository, LOGINS, purpose)
    commit(repository, "owner")
    git(repository, "checkout", "-q", "main")
    edit(repository, NEWS, unprotect)
    commit(repository, "unprotect")
    git(repository, "checkout", "-q", "feature")
    code, out, _ = diff()
    assert code == 0
    assert NEWS not in out
    git(repository, "merge", "-q", "--no-edit", "main")
    code, out, _ = diff()
    assert code == 0
    assert NEWS not in out
    assert diff("--against", "main~1")[0] == 1


def test_on_main_the_commit_before_is_the_base(repository: Path, diff: Diff) -> None:
    edit(repository, NEWS, unprotect)
    commit(repository, "unprotect")
    code, out, _ = diff()
    assert code == 1
    assert out.startswith("against the commit before (")


def test_after_a_squash_nothing_is_told_twice_and_ages_stay_right(repository: Path, diff: Diff) -> None:
    """The squash is told once, on main; a branch of before that is brought up to date has nothing of its own left."""
    git(repository, "checkout", "-q", "-b", "feature")
    edit(repository, LOGINS, purpose)
    commit(repository, "owner")
    edit(repository, NEWS, unprotect)
    commit(repository, "unprotect")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "-q", "--squash", "feature")
    git(repository, "commit", "-q", "-m", "squashed", when=datetime(2027, 1, 5, tzinfo=UTC))
    squashed = ask(repository, "rev-parse", "HEAD").strip()
    assert diff()[2].startswith("1 weakened, 1 changed;")
    commits = {}
    for stack, path in (
        (NEWS, "AWS::DynamoDB::Table Properties/DeletionProtectionEnabled"),
        (NEWS, "AWS::DynamoDB::Table Properties/KeySchema"),
        (LOGINS, "AWS::DynamoDB::Table Properties/Tags"),
    ):
        found = since(history.read(repository), stack, None, [path], None).commit
        commits[path.rpartition("/")[2]] = found.sha if found else None
    first = ask(repository, "rev-list", "--max-parents=0", "HEAD").strip()
    assert commits == {"DeletionProtectionEnabled": squashed, "KeySchema": first, "Tags": squashed}
    git(repository, "checkout", "-q", "-b", "next")
    assert diff()[::2] == (0, "nothing differs\n")
    git(repository, "checkout", "-q", "feature")
    git(repository, "merge", "-q", "--no-edit", "main")
    assert diff()[::2] == (0, "nothing differs\n")


def test_the_keys_and_topics_that_a_commit_of_this_repository_replaced(tmp_path: Path, diff: Diff) -> None:
    """42e4ed3 renamed the logical ids of 48 resources, and 1,276 lines of snapshots did not say what that means."""
    before, after = (committed(ROOT, f"42e4ed3{which}") for which in ("^", ""))
    if before is None or after is None:
        pytest.skip("the clone lacks the commit 42e4ed3: it is shallow")
    folder = tmp_path / "then"
    (folder / "snapshots").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, content in files_at(ROOT, before, "snapshots").items():
        (folder / "snapshots" / name).write_bytes(content)
    commit(folder, "42e4ed3^")
    for name, content in files_at(ROOT, after, "snapshots").items():  # as that commit would be accepted today
        made = make.brought_up(files.parse(content, name)) | {"version": files.VERSION, "code": {}}
        (folder / "snapshots" / name).write_text(files.text(made))
    commit(folder, "42e4ed3")
    code, out, _ = diff("--format", "json", folder=folder)
    findings = json.loads(out)["findings"]
    renamed = [f for f in findings if "its logical id changes from" in f["detail"]]
    assert code == 1
    assert Counter((f["change"], f["type"]) for f in renamed) == {
        ("replaced", "AWS::KMS::Key"): 14,
        ("replaced", "AWS::SNS::Topic"): 10,
        ("changed", "AWS::KMS::Alias"): 14,
        ("changed", "AWS::SNS::TopicPolicy"): 10,
    }
    lost = [f["stack"] for f in renamed if "what the old one encrypted is lost with it" in f["detail"]]
    assert sum(f["change"] == "replaced" and f["outcome"] == "fail" for f in renamed) == 24
    assert len(lost) == 5
    assert not [f for f in findings if f["change"] in ("added", "removed")]


def test_two_branches_that_change_two_tables_of_one_stack_merge_clean(repository: Path, diff: Diff) -> None:
    def second(contract: Json) -> None:
        tables(contract)[1]["Properties"]["Tags"]["shop:team"] = "a third team"

    for branch, change in (("one", purpose), ("two", second)):
        git(repository, "checkout", "-q", "-b", branch, "main")
        edit(repository, LOGINS, change)
        commit(repository, branch)
    git(repository, "merge", "-q", "--no-edit", "one")
    both = files.read(repository / "snapshots" / f"{LOGINS}.json")
    assert {t["Properties"]["Tags"]["shop:team"] for t in tables(both)} == {"another team", "a third team"}


def test_a_removed_and_a_new_stack_are_told(repository: Path, diff: Diff) -> None:
    (repository / "snapshots" / f"{NEWS}.json").rename(repository / "snapshots" / "Renamed.json")
    edit(repository, "Renamed", lambda c: c["stack"].update(name="another"))
    code, out, err = diff("--against", "HEAD")
    assert (code, err.split(";")[0]) == (1, "2 removed, 3 added")
    assert f"the stack is gone, and with it {TABLE}" in out
    assert "it moves to Renamed: its data stays, and that stack has to import it" in out


def called(folder: Path, old: str, new: str) -> None:
    """What a synth writes where the construct of a stack gets another id, and the stack keeps its name."""
    (folder / "snapshots" / f"{old}.json").rename(folder / "snapshots" / f"{new}.json")
    for path in (folder / "snapshots").glob("*.json"):
        path.write_text(path.read_text().replace(f'"{old}/', f'"{new}/').replace(f'["{old}"]', f'["{new}"]'))


def test_a_stack_is_followed_through_another_construct_id(repository: Path, diff: Diff) -> None:
    """CloudFormation knows it by its name: whoever reads "removed" would look for data that is not lost."""
    edit(repository, LOGINS, lambda c: c["stack"].update(dependencies=[NEWS]))
    commit(repository, "one depends on the other")
    called(repository, NEWS, "News")
    code, out, err = diff("--against", "HEAD")
    assert (code, err) == (0, "1 changed\n")
    assert out.splitlines()[1:] == [
        "CHANGED   News",
        f'          its contract has another name; it is the same stack of CloudFormation: stack/id "{NEWS}" → "News"',
    ]
    edit(repository, "News", unprotect)
    code, out, err = diff("--against", "HEAD")
    assert (code, err.split(";")[0]) == (1, "1 weakened, 1 changed")
    assert out.splitlines()[1] == f"WEAKENED  {TABLE} in News"


@pytest.mark.parametrize("place", [{"name": "another"}, {"environment": "aws://unknown-account/us-west-2"}])
def test_another_name_or_region_is_another_stack(repository: Path, diff: Diff, place: Json) -> None:
    called(repository, NEWS, "News")
    edit(repository, "News", lambda c: c["stack"].update(place))
    code, out, _ = diff("--against", "HEAD")
    assert (code, f"the stack is gone, and with it {TABLE}" in out) == (1, True)


def test_a_name_that_two_stacks_have_is_not_followed(repository: Path, diff: Diff) -> None:
    called(repository, NEWS, "News")
    shutil.copy(repository / "snapshots" / "News.json", repository / "snapshots" / "Copy.json")
    assert "the stack is gone" in diff("--against", "HEAD")[1]


def test_markdown_and_json(repository: Path, diff: Diff) -> None:
    edit(repository, NEWS, unprotect)
    _, out, _ = diff("--against", "HEAD", "--format", "json")
    document = json.loads(out)
    assert (document["version"], document["command"], document["env"]) == (1, "diff", "live")
    assert document["against"].startswith("HEAD (")
    (finding,) = document["findings"]
    assert finding == {
        "rule": "HF001",
        "outcome": "fail",
        "severity": "critical",
        "table": TABLE,
        "store": TABLE,
        "stack": "Newsletter",
        "environment": "live",
        "source": "contract",
        "where": f"snapshots/{NEWS}.json#{finding['resource']}",
        "path": "Properties/DeletionProtectionEnabled",
        "before": "true",
        "after": "false",
        "change": "weakened",
        "detail": "deletion protection is lost: Properties/DeletionProtectionEnabled true → false",
        "fix": "undo it: nothing approves this",
        "controls": list(BY_ID["HF001"].controls),
        "resource": finding["resource"],
        "type": "AWS::DynamoDB::Table",
        "guard": "DP",
        "reaches": False,
        "approvable": False,
        "approval": None,
    }
    counts = {"weakened": 1, "removed": 0, "replaced": 0, "added": 0, "changed": 0, "unapproved": 1}
    assert document["summary"] == {"tables": 1, "pass": 0, "fail": 1, "unknown": 0, "exempt": 0, **counts}
    assert document["approvals"] == []
    _, out, _ = diff("--against", "HEAD", "--format", "markdown")
    assert out.splitlines()[2].startswith(f"- **weakened** `{TABLE} in {NEWS}`: `deletion protection is lost")


def test_what_needs_no_approval_passes_and_is_listed(repository: Path, diff: Diff) -> None:
    edit(repository, LOGINS, purpose)
    code, out, _ = diff("--against", "HEAD", "--format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["outcome"], finding["change"], finding["fix"]) == (0, "pass", "changed", "")
    assert (finding["rule"], finding["approvable"]) == ("HF010", None)


def test_markdown_fits_a_comment_and_nothing_in_it_is_a_mark(repository: Path, diff: Diff) -> None:
    def many(contract: Json) -> None:
        unprotect(contract)
        for number in range(3000):
            made = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": f"q{number}"}}
            contract["template"]["Resources"][f"Queue{number}"] = made
        contract["template"]["Resources"]["Odd"] = {"Type": "A`::|</details>\x1b[2J", "Properties": {}}

    edit(repository, NEWS, many)
    _, out, _ = diff("--against", "HEAD", "--format", "markdown")
    assert len(out) < 60_000
    assert out.splitlines()[2].startswith("- **weakened** `")
    assert out.count("<details>") == out.count("\n</details>\n") > 1
    odd = next(line for line in out.splitlines() if "2J" in line)
    assert odd.count("`") % 2 == 0
    assert "\x1b" not in odd
    assert "A'::\\|" in odd


def test_sarif_points_at_the_declaration_or_at_the_contract(repository: Path, diff: Diff, tmp_path: Path) -> None:
    schemas = ROOT / "node_modules" / "@microsoft" / "sarif-matcher-utils" / "lib" / "schemas"
    (schema,) = schemas.glob("sarif-2.1.0*.json")

    def both(contract: Json) -> None:
        unprotect(contract)
        contract["stack"].pop("terminationProtection")
        contract["template"]["Resources"]["Mapping"] = {"Type": "Custom::X", "Properties": {}}

    edit(repository, NEWS, both)

    def places() -> list[tuple[str, str, str]]:
        target = tmp_path / "found.sarif"
        assert diff("--against", "HEAD", "--format", "sarif", "--output", str(target))[1] == ""
        document = json.loads(target.read_text())
        jsonschema.validate(document, json.loads(schema.read_text()))
        found = []
        for result in document["runs"][0]["results"]:
            place = result["locations"][0]["physicalLocation"]
            uri, line = place["artifactLocation"]["uri"], place["region"]["startLine"]
            text = (repository / uri).read_text().splitlines()[line - 1].strip()
            found.append((result["ruleId"], result["level"], text.split(":")[0]))
        return found

    assert places() == [
        ("diff/weakened", "error", '"stack"'),  # what is gone has no line
        ("diff/weakened", "error", '"DeletionProtectionEnabled"'),
        ("diff/added", "warning", '"Mapping"'),
    ]
    (repository / "declared").mkdir()
    (repository / "declared" / "news_estate.py").write_text(SHOP.format(table="newsletter-v2", imports=""))
    (repository / "holdfast.toml").write_text('[tool.holdfast]\nestate = "declared.news_estate:ESTATE"\n')
    edit(repository, NEWS, lambda c: tables(c)[0]["Properties"].update(TableName="newsletter-v2-prod"))
    commit(repository, "another name")
    edit(repository, NEWS, lambda c: tables(c)[0].update(DeletionPolicy="Delete"))
    assert places() == [("diff/weakened", "error", "Table(")]


def test_diff_loads_neither_cdk_nor_an_estate(repository: Path) -> None:
    code = (
        "import sys; from holdfast.cli import main; main(['diff', '--against', 'HEAD']); "
        "print(sorted({'aws_cdk', 'jsii', 'boto3', 'stacks'} & set(sys.modules)), file=sys.stderr)"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "constructs")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines() == ["nothing differs", "[]"]


def test_a_base_that_is_not_there_is_not_guessed(repository: Path, diff: Diff, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repository, "checkout", "-q", "--orphan", "unrelated")
    commit(repository, "another beginning")
    code, out, err = diff()
    assert (code, out) == (2, "")
    assert err == "holdfast: HEAD and main have no commit in common here; give --against\n"
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    code, out, err = diff()
    assert (code, out) == (2, "")
    assert err == "holdfast: origin/main, the base of the pull request, is not here; fetch it\n"
    monkeypatch.delenv("GITHUB_BASE_REF")
    git(repository, "branch", "-D", "main")
    git(repository, "branch", "-m", "main")
    code, out, _ = diff()  # the first commit of all has no parent: only the working tree can differ
    assert (code, out.splitlines()[0].endswith(", the first commit")) == (0, True)


def test_a_snapshot_from_before_contracts_is_compared_in_todays_form(repository: Path, diff: Diff) -> None:
    """As the file stood before: the raw template, without a version."""
    contract = files.read(repository / "snapshots" / f"{NEWS}.json")
    raw: Json = json.loads(json.dumps(contract["template"]))
    (table,) = [r for r in raw["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
    table["Properties"]["Tags"] = [{"Key": k, "Value": v} for k, v in reversed(table["Properties"]["Tags"].items())]
    stack = {k: contract["stack"][k] for k in ("name", "environment", "terminationProtection", "tags")}
    old = {"stack": stack, "acknowledged": contract["acknowledged"], "template": raw}
    path = repository / "snapshots" / f"{NEWS}.json"
    path.write_text(json.dumps(old, indent=2, sort_keys=True))
    commit(repository, "as it was")
    path.write_text(files.text(contract))
    assert diff("--against", "HEAD")[2] == "nothing differs\n"


def moved(folder: Path) -> None:
    (folder / "infra").mkdir(exist_ok=True)
    (folder / "snapshots").rename(folder / "infra" / "snapshots")


def moved_from_two(folder: Path) -> None:
    shutil.copytree(folder / "snapshots", folder / "other" / "snapshots")
    commit(folder, "another")
    moved(folder)


def emptied(folder: Path) -> None:
    for message in ("gone", "still gone"):
        shutil.rmtree(folder / "snapshots", ignore_errors=True)
        (folder / message).write_text("x")
        commit(folder, message)


def test_contracts_that_were_moved_are_compared_with_where_they_were(repository: Path, diff: Diff) -> None:
    (repository / "jest" / "snapshots").mkdir(parents=True)
    (repository / "jest" / "snapshots" / "x.json").write_text("[]")
    (repository / "approvals").mkdir()
    commit(repository, "another tool")
    moved(repository)
    assert diff("--against", "HEAD", folder=repository / "infra")[2] == "nothing differs\n"
    edit(repository / "infra", NEWS, unprotect)
    assert diff("--against", "HEAD", folder=repository / "infra")[0] == 1
    shutil.copytree(repository / "infra" / "snapshots", repository / "snapshots")  # a copy is no beginning, either
    assert diff("--against", "HEAD", folder=repository / "infra")[0] == 1


def test_a_second_project_begins_anew(repository: Path, diff: Diff) -> None:
    (repository / "second" / "snapshots").mkdir(parents=True)
    (repository / "second" / "snapshots" / "Retired-live.json").write_text(accepted_texts()["Retired-live"])
    code, out, err = diff("--against", "HEAD", folder=repository / "second")
    assert (code, "removed" in err, "the stack is new" in out) == (0, False, True)


def test_when_all_contracts_are_deleted_all_stacks_left(repository: Path, diff: Diff) -> None:
    shutil.rmtree(repository / "snapshots")
    (repository / "deep").mkdir()
    code, out, err = diff("--against", "HEAD", folder=repository / "deep")
    assert (code, "removed" in err) == (1, True)
    assert all(f"REMOVED   {stack}" in out for stack in STACKS)


@pytest.mark.parametrize(
    ("arguments", "prepare", "says"),
    [
        (["--against=nowhere"], None, "--against nowhere: git knows no such commit here"),
        (["--against=--output=x"], None, "--against --output=x: git knows no such commit here"),
        ([], emptied, "there are no contracts here"),
        (["--against=HEAD"], moved_from_two, "has contracts elsewhere ("),
        ([], lambda f: shutil.rmtree(f / ".git"), "is not in a git repository"),
        ([], lambda f: git(f, "branch", "-m", "main", "trunk"), "no default branch is known here"),
        (["--against=HEAD"], lambda f: edit(f, NEWS, lambda c: c.pop("version")), "by an earlier version"),
        (["--against=HEAD"], lambda f: edit(f, NEWS, lambda c: c.update(version=0)), "by an earlier version"),
        (["--against=HEAD"], lambda f: edit(f, NEWS, lambda c: c.update(version=True)), "has version True"),
        (["--against=HEAD"], lambda f: edit(f, NEWS, lambda c: c.pop("code")), "it has no code"),
        (
            ["--against=HEAD"],
            lambda f: (f / "snapshots" / f"{NEWS}.json").write_text("<<<<<<< HEAD\n=======\n>>>>>>> x\n"),
            "is half merged",
        ),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], prepare: Any, says: str, repository: Path, diff: Diff) -> None:
    if prepare:
        prepare(repository)
    infra = repository / "infra"
    code, out, err = diff(*arguments, folder=infra if infra.is_dir() else repository)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_repository_without_a_commit_and_a_shallow_clone_say_what_to_do(
    repository: Path, diff: Diff, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    shutil.copytree(repository / "snapshots", empty / "snapshots")
    git(empty, "init", "-q")
    code, _, err = diff(folder=empty)
    assert (code, err) == (2, "holdfast: the repository has no commit yet: there is nothing to compare with\n")
    edit(repository, NEWS, purpose)
    commit(repository, "owner")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    code, _, err = diff("--against=HEAD~1", folder=tmp_path / "shallow")
    assert code == 2
    assert err.endswith("the clone is shallow: set `fetch-depth: 0` in the workflow, or `git fetch --unshallow`\n")
    code, out, err = diff(folder=tmp_path / "shallow")  # else HEAD would be compared with itself
    assert (code, out) == (2, "")
    assert "fetch-depth: 0" in err


def test_the_base_of_a_pull_request_is_the_platforms(
    repository: Path, diff: Diff, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git(repository, "checkout", "-q", "-b", "release")
    edit(repository, NEWS, unprotect)
    commit(repository, "unprotect")
    git(repository, "checkout", "-q", "-b", "feature")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    monkeypatch.setenv("GITHUB_BASE_REF", "release")
    edit(tmp_path / "clone", LOGINS, purpose)
    assert main(["diff"]) == 0
    assert NEWS not in capsys.readouterr().out
