"""`holdfast check` and its kin as a user runs them: formats, waivers, bad input."""

from __future__ import annotations

import argparse
import copy
import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from declare import PROD, TEST, estate, stack, table
from shop import DEV, ESTATE, LIVE, NEWSLETTER, STORES, alone
from shop_synth import count
from support import MOMENTS, ROOT, Json, copied, settle

from holdfast import Data, Database, DeclarationError, Environment, Guard, Stack, Table, Tier, Waiver, gsi
from holdfast.cli import main, options
from holdfast.contract import stamp
from holdfast.estate import finder
from holdfast.estate.finder import Project
from holdfast.estate.placement import Placed
from holdfast.rules import BY_ID, RULES, check_waivers, excused, expiring, finding
from holdfast.rules.former import DROPPED, MERGED, current, note
from holdfast.rules.schema import lint
from holdfast.verdict import Outcome, fail

NOW = MOMENTS["morning"]
pytestmark = pytest.mark.usefixtures("repository")


@pytest.fixture
def broken(outdir: Path, tmp_path: Path, templates: dict[str, Json]) -> Path:
    """An assembly in which one table lost its deletion protection and its tags, and another's expiry is undecided."""
    assembly = copied(outdir, tmp_path / "cdk.out")
    template = copy.deepcopy(templates["Newsletter-live"])
    (table,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
    table["Properties"]["DeletionProtectionEnabled"] = False
    del table["Properties"]["Tags"]
    (assembly / "Newsletter-live.template.json").write_text(json.dumps(template))
    template = copy.deepcopy(templates["Orders-dev"])
    (table,) = [r for r in template["Resources"].values() if r.get("Properties", {}).get("TableName") == "carts-dev"]
    table["Properties"]["TimeToLiveSpecification"]["Enabled"] = {"Ref": "Stage"}
    (assembly / "Orders-dev.template.json").write_text(json.dumps(template))
    settle(assembly)
    return assembly


def run(capsys: pytest.CaptureFixture[str], *arguments: str, now: datetime = NOW) -> tuple[int, str, str]:
    code = main(arguments, now=now)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_text_is_worst_first_and_says_what_to_do(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "check", str(broken))
    assert code == 1
    first, where, fix, *rest = out.splitlines()
    assert first == (
        "FAIL  HF001  critical  newsletter-eu-west-1: deletion protection is off, required is on "
        "(deletion protection is lost: Properties/DeletionProtectionEnabled true → false)"
    )
    assert where.strip().startswith("in Newsletter, Newsletter-live.template.json#")
    assert "--table-name newsletter-eu-west-1 --deletion-protection-enabled --region eu-west-1" in fix
    told = [line[:11] for line in rest if not line.startswith(" ")]
    assert told == ["FAIL  HF006", *["FAIL  HF010"] * 3]  # class and lifetime are told by themselves
    assert "\033" not in out
    assert err.startswith(f"{count()} stores, {len(ESTATE.placements())} stacks: 5 failed, 0 unknown, ")


def test_json_follows_the_documented_schema(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "check", str(broken), "--format", "json")
    document = json.loads(out)
    assert document["version"] == 1
    assert document["command"] == "check"
    assert document["env"] == "live,dev"
    assert document["summary"]["fail"] == 5
    assert document["summary"]["unknown"] == 0
    assert len(document["findings"]) == 5
    (first,) = [f for f in document["findings"] if f["rule"] == "HF001"]
    assert list(first) == [
        "rule",
        "outcome",
        "severity",
        "table",
        "store",
        "stack",
        "environment",
        "source",
        "where",
        "path",
        "before",
        "after",
        "change",
        "detail",
        "fix",
        "controls",
        "declared",
    ]
    assert (first["table"], first["environment"], first["source"]) == ("newsletter-eu-west-1", "live", "template")
    assert "SecurityHub DynamoDB.6" in first["controls"]
    _, out, _ = run(capsys, "check", str(broken), "--format", "json", "--all")
    assert {f["outcome"] for f in json.loads(out)["findings"]} == {"pass", "fail", "exempt"}


@pytest.mark.parametrize("arguments", [(), ("--all",)])
def test_sarif_is_valid(
    arguments: tuple[str, ...], broken: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schemas = ROOT / "node_modules" / "@microsoft" / "sarif-matcher-utils" / "lib" / "schemas"
    (path,) = schemas.glob("sarif-2.1.0*.json")
    _, out, _ = run(capsys, "check", str(broken), "--format", "sarif", *arguments)
    document = json.loads(out)
    jsonschema.validate(document, json.loads(path.read_text()))
    (sarif_run,) = document["runs"]
    assert len(sarif_run["tool"]["driver"]["rules"]) == len(RULES)
    (first,) = [r for r in sarif_run["results"] if r["ruleId"] == "HF001" and r["kind"] == "fail"]
    assert first["level"] == "error"
    (location,) = first["locations"]
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "Newsletter/newsletter-eu-west-1"
    prints = [r["partialFingerprints"]["holdfast/v1"] for r in sarif_run["results"]]
    assert len(set(prints)) == len(prints) >= 4
    for result in (r for r in sarif_run["results"] if r["kind"] == "fail"):
        place = result["locations"][0]["physicalLocation"]
        line = (
            (repository / place["artifactLocation"]["uri"]).read_text().splitlines()[place["region"]["startLine"] - 1]
        )
        assert "Table(" in line


def test_sarif_of_nothing_is_valid_too(outdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", str(outdir), "--format", "sarif")
    assert code == 0
    assert json.loads(out)["runs"][0]["results"] == []


def test_junit_counts(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "check", str(broken), "--format", "junit")
    suite = ElementTree.fromstring(out)
    assert (suite.get("failures"), suite.get("errors")) == ("5", "0")
    assert len(suite) == int(suite.get("tests", "0")) > 1000
    failed = {c.get("classname") for c in suite if c.find("failure") is not None}
    assert failed == {"newsletter-eu-west-1", "carts-dev"}
    assert "Properties/DeletionProtectionEnabled: true → false" in out
    assert "5 failed" in err


def test_output_goes_to_a_file(broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "findings.json"
    code, out, _ = run(capsys, "check", str(broken), "--format", "json", "--output", str(target))
    assert (code, out) == (1, "")
    assert json.loads(target.read_text())["summary"]["fail"] == 5


def test_select_and_ignore(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", str(broken), "--ignore", "HF001,HF010")[0] == 1
    assert run(capsys, "check", str(broken), "--ignore", "HF001,HF010,HF006")[0] == 0
    code, out, _ = run(capsys, "check", str(broken), "--select", "HF010")
    assert code == 1
    assert "HF001" not in out


def _without_live(outdir: Path, target: Path) -> None:
    """A copy of the assembly whose manifest names no stack of live."""
    live = {p.id for p in ESTATE.placements([LIVE])}
    manifest = json.loads((copied(outdir, target) / "manifest.json").read_text())
    for name in [n for n in manifest["artifacts"] if n.removesuffix(".assets") in live]:
        del manifest["artifacts"][name]
    (target / "manifest.json").write_text(json.dumps(manifest))


def test_a_tier_that_is_gone_is_missed_where_it_is_asked_for(
    outdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _without_live(outdir, tmp_path / "cdk.out")
    for env in ("all", "live"):
        code, out, _ = run(capsys, "check", str(tmp_path / "cdk.out"), "--env", env, "--format", "json")
        (finding,) = json.loads(out)["findings"]
        assert (code, finding["rule"], finding["outcome"], finding["environment"]) == (3, "HF702", "unknown", "live")


@pytest.mark.parametrize(
    ("member", "value", "rule"),
    [
        ("environment", "aws://unknown-account/us-east-1", "HF210"),
        ("environment", "aws://unknown-account/unknown-region", "HF210"),
        ("stackName", "Another", "HF210"),
        ("terminationProtection", "false", "HF013"),
        ("terminationProtection", None, "HF013"),
    ],
)
def test_what_only_the_manifest_tells(
    member: str, value: Any, rule: str, outdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(outdir, tmp_path / "cdk.out")
    manifest = json.loads((folder / "manifest.json").read_text())
    artifact = manifest["artifacts"]["Retired-live"]
    target = artifact if member == "environment" else artifact["properties"]
    target[member] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, out, _ = run(capsys, "check", str(folder), "--format", "json")
    assert code == 1
    assert rule in {f["rule"] for f in json.loads(out)["findings"]} <= {rule, "HF705"}


def test_an_environment_that_was_not_synthesized_is_unknown_unless_another_is_asked_for(
    outdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cdk.out"
    _without_live(outdir, folder)
    code, out, _ = run(capsys, "check", str(folder), "--format", "json")
    (finding,) = json.loads(out)["findings"]
    assert (code, finding["rule"], finding["outcome"], finding["environment"]) == (3, "HF702", "unknown", "live")
    assert finding["fix"].startswith("cdk synth -c env=all")
    code, _, err = run(capsys, "check", str(folder), "--env", "dev")
    assert code == 0
    assert err.startswith(f"{count('dev')} stores, {len(ESTATE.placements([DEV]))} stacks")


# Bad input


def _no_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def _other_project(folder: Path) -> None:
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "Blog.template.json"}}
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {"Blog": artifact}}))
    (folder / "Blog.template.json").write_text('{"Resources": {}}')


def _write(name: str, text: str) -> Any:
    return lambda folder: (folder / name).write_text(text)


def _huge(folder: Path) -> None:
    with (folder / "Retired-live.template.json").open("wb") as file:
        file.truncate(50_000_000)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_no_manifest, "is not a CDK output folder (no manifest.json): run `cdk synth -c env=all` first"),
        (_write("manifest.json", "{"), "manifest.json is not JSON"),
        (_write("manifest.json", "[]"), "manifest.json is not a CloudFormation template"),
        (_write("manifest.json", "{}"), "is not a CDK manifest (no artifacts)"),
        (_write("Retired-live.template.json", "{oops"), "Retired-live.template.json is not JSON"),
        (_write("Retired-live.template.json", "3"), "Retired-live.template.json is not a CloudFormation template"),
        (_write("Retired-live.template.json", '{"Resources": []}'), "is not a CloudFormation template (Resources)"),
        (_write("Retired-live.template.json", '{"Resources": {"A": 1}}'), "is not a CloudFormation template"),
        (lambda folder: (folder / "Retired-live.template.json").unlink(), "cannot be read (No such file"),
        (
            _write("manifest.json", '{"artifacts": {"A": {"type": "aws:cloudformation:stack", "properties": null}}}'),
            "(A names no template)",
        ),
        (_write("Retired-live.template.json", "[" * 100_000), "Retired-live.template.json is not JSON"),
        (_huge, "Retired-live.template.json has 50 MB; CloudFormation takes 1 MB: split the stack"),
        (_other_project, "holds none of the declared stacks (Blog): is it another project's output?"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    spoil: Any, says: str, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(broken)
    code, out, err = run(capsys, "check", str(broken))
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert err.startswith("holdfast: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "no-such-folder"), "no-such-folder is not a CDK output folder"),
        (("check", "--select", "HF000"), "unknown rule 'HF000': did you mean HF0"),
        (("check", "--select", ""), "--select is empty"),
        (("check", "cdk.out", "--env", "staging"), "unknown environment 'staging': known are live, dev, all"),
        (("lint", "--ignore", "X"), "unknown rule 'X'"),
        (("explain", "HF9"), "unknown rule 'HF9'"),
        (("lint", "--output", "no/such/folder/file"), "cannot be written (No such file or directory)"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_2(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


# Waivers


def waiver(rule: str = "HF001", days: int = 90, now: datetime = NOW) -> Waiver:
    ends = now.date() + timedelta(days=days)
    return Waiver(rule=rule, environment=PROD, reason="moves next month", owner="ops", expires=ends)


def shop(*waivers: Waiver, **changes: Any) -> Stack:
    return stack(table(waivers=waivers, **changes), environments=(PROD,))


@pytest.fixture
def waived(outdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `holdfast check` on the newsletter without deletion protection, its declaration waiving what it is told."""

    def prepare(*waivers: Waiver, data: Data = Data.OPERATIONAL) -> Path:
        (declared,) = NEWSLETTER.tables
        there = tuple(replace(w, environment=LIVE) for w in waivers)
        readers = replace(NEWSLETTER, tables=(replace(declared, waivers=there, data=data),))
        project = Project(estate=alone(readers), source=tmp_path)
        monkeypatch.setattr(finder, "find", lambda asked: project)
        monkeypatch.chdir(tmp_path)  # where there are no contracts
        template = json.loads((outdir / "Newsletter-live.template.json").read_text())
        (resource,) = [r for r in template["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table"]
        resource["Properties"]["DeletionProtectionEnabled"] = False
        if data is not Data.PERSONAL:
            del resource["Properties"]["SSESpecification"]
        for tag in resource["Properties"]["Tags"]:
            tag["Value"] = data.value if tag["Key"] == "shop:data" else tag["Value"]
        (tmp_path / "Newsletter-live.template.json").write_text(json.dumps(template))
        artifact = json.loads((outdir / "manifest.json").read_text())["artifacts"]["Newsletter-live"]
        (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"Newsletter-live": artifact}}))
        stamp.write(tmp_path, project.estate)
        return tmp_path

    return prepare


def test_a_waiver_holds_until_its_day(waived: Any, now: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", str(waived()), now=now)[0] == 1
    code, out, err = run(capsys, "check", str(waived(waiver(now=now))), "--all", now=now)
    assert code == 0
    assert f"waived until {now.date() + timedelta(days=90)} by ops: moves next month" in out
    assert "warning" not in err
    assert run(capsys, "check", str(waived(waiver(days=0, now=now))), now=now)[0] == 0
    assert run(capsys, "check", str(waived(waiver("HF004", now=now))), now=now)[0] == 1


def test_an_expired_waiver_fails_and_says_so(waived: Any, now: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "check", str(waived(waiver(days=-1, now=now))), now=now)
    assert code == 1
    over = f"its waiver of HF001 by ops ended on {now.date() - timedelta(days=1)}"
    assert [line.split()[1] for line in out.splitlines() if over in line] == ["HF001", "HF212"]


def test_a_waiver_about_to_end_warns(waived: Any, now: datetime, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "check", str(waived(waiver(days=30, now=now))), now=now)
    assert code == 0
    assert "warning: the waiver of HF001 on newsletter-{region} in live ends in 30 days (ops)" in err
    assert not list(expiring(estate(shop(waiver(days=31, now=now))), now.date()))


def test_nobody_waives_what_protects_personal_data(waived: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = waived(waiver(), data=Data.PERSONAL)
    code, _, err = run(capsys, "check", str(folder))
    assert code == 2
    assert "HF001 cannot be waived for personal durable data in live; fix what it finds" in err
    for rule in ("HF001", "HF002", "HF003", "HF007", "HF012"):  # former ids, too
        with pytest.raises(DeclarationError, match="cannot be waived"):
            check_waivers(estate(shop(waiver(rule), data=Data.PERSONAL)))
    check_waivers(estate(shop(waiver("HF004"), data=Data.PERSONAL)))


def test_waivers_that_cannot_be_written() -> None:
    with pytest.raises(DeclarationError, match="Waiver HF205: expires is missing, and has to be a date, such as date"):
        Waiver(rule="HF205", environment=PROD, reason="r", owner="o")  # type: ignore[call-arg]
    with pytest.raises(DeclarationError, match="waiver of HF001 in prod: give it a reason and an owner"):
        replace(waiver(), reason=" ")
    with pytest.raises(DeclarationError, match="waiver of unknown rule HF000"):
        check_waivers(estate(shop(waiver("HF000"))))
    with pytest.raises(DeclarationError, match="HF212 is about waivers, and cannot be waived"):
        check_waivers(estate(shop(waiver("HF212"))))


def test_a_waiver_is_for_an_environment_in_which_its_table_is() -> None:
    elsewhere = Environment("staging", Tier.TEST, "us-west-2")
    with pytest.raises(DeclarationError, match=r"staging is not an environment of the estate \(prod, test\)"):
        estate(shop(replace(waiver(), environment=elsewhere)))
    for about in ({}, {"only": (PROD,)}):
        with pytest.raises(
            DeclarationError, match=r"its waiver of HF001 is for test, where stack .* does not declare it"
        ):
            estate(shop(replace(waiver(), environment=TEST), **about))
    with pytest.raises(DeclarationError, match="two waivers of HF001 in prod; drop one"):
        estate(shop(waiver(), waiver(days=3)))


def everywhere(*waivers: Waiver, **changes: Any) -> tuple[Placed, Placed]:
    """A table in two environments, under one name in both."""
    both = estate(stack(table(name="orders", waivers=waivers, **changes)))
    prod, test = both.placements()
    return prod, test


def test_a_waiver_excuses_its_own_environment_only() -> None:
    for env in (PROD, TEST):
        places = everywhere(replace(waiver("HF004"), environment=env))
        found = [finding(BY_ID["HF004"], fail("it is off"), p, p.tables[0], "somewhere") for p in places]
        waived = {f.environment for f in excused(found, places, NOW.date()) if f.outcome is Outcome.EXEMPT}
        assert waived == {env.label}


def test_a_waiver_excuses_its_own_stack_only() -> None:
    """The same name in another region is another table."""
    mine = stack(table(name="orders", waivers=(waiver("HF004"),)), id="Mine-{env}", environments=(PROD,))
    other = stack(table(name="orders"), id="Other-{env}", environments=(PROD,), region="eu-west-1")
    places = estate(mine, other).placements()
    found = [finding(BY_ID["HF004"], fail("it is off"), p, p.tables[0], "somewhere") for p in places]
    assert [f.outcome for f in excused(found, places, NOW.date())] == [Outcome.EXEMPT, Outcome.FAIL]


def test_what_protects_personal_data_is_not_excused_whoever_let_the_waiver_pass() -> None:
    places = everywhere(waiver(), data=Data.PERSONAL)
    found = finding(BY_ID["HF001"], fail("it is off"), places[0], places[0].tables[0], "somewhere")
    assert excused([found], places, NOW.date()) == [found]
    check_waivers(estate(stack(table(data=Data.PERSONAL, waivers=(replace(waiver(), environment=TEST),)))))


@pytest.mark.parametrize(
    ("days", "says"),
    [(-1, "by ops ended on "), (367, "ends in 367 days; at most a year ahead"), (0, None), (366, None)],
)
def test_a_waiver_that_is_over_or_far_ahead_fails_where_its_rule_passes(
    days: int, says: str | None, waived: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(waived(waiver("HF014", days=days)))
    capsys.readouterr()
    _, out, _ = run(capsys, "check", folder, "--select", "HF212,HF014", "--format", "json", "--all")
    found = [f for f in json.loads(out)["findings"] if f["rule"] == "HF212"]
    assert [(f["outcome"], f["severity"], f["source"]) for f in found] == [
        ("fail" if says else "pass", "medium", "declaration")
    ]
    assert not says or says in found[0]["detail"]
    assert run(capsys, "check", folder, "--select", "HF212,HF014")[0] == (1 if says else 0)


def test_a_waiver_far_ahead_excuses_nothing(waived: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", str(waived(waiver(days=367))), "--ignore", "HF212")[0] == 1


def test_waivers_are_listed(waived: Any, capsys: pytest.CaptureFixture[str]) -> None:
    waived(waiver("HF205"))
    code, out, _ = run(capsys, "waivers")
    assert code == 0
    assert "HF205" in out
    assert "moves next month" in out
    assert "over" not in out
    waived(waiver("HF205", days=-1))
    assert f"{(NOW - timedelta(days=1)).date()}, over" in run(capsys, "waivers")[1]
    waived()
    assert run(capsys, "waivers")[1] == "No rule is waived.\n"


def test_a_waiver_covers_the_linter_too(now: datetime) -> None:
    table_ = table(indexes=(gsi("id"),))
    plain = Stack(id="S-{env}", system="s", owner="o", tables=(table_,), floor=Guard.PITR)
    assert "HF401" in {f.rule.id for f in lint(estate(plain), today=now.date()) if f.outcome.value == "fail"}
    one = waiver("HF401", days=0, now=now)

    def failing(*waivers: Waiver) -> dict[str, str]:
        covered = estate(replace(plain, tables=(replace(table_, waivers=waivers),)))
        return {f.rule.id: f.detail for f in lint(covered, today=now.date()) if f.outcome.value == "fail"}

    assert failing(one)["HF401"].endswith("; it is not waived in test")  # a design is the same in every environment
    everywhere = (one, replace(one, environment=TEST))
    assert failing(*everywhere).keys().isdisjoint({"HF401", "HF212"})
    over = [replace(w, expires=now.date() - timedelta(days=1)) for w in everywhere]
    assert failing(*over).keys() >= {"HF401", "HF212"}
    assert "HF212" not in failing(*(replace(w, rule="HF010") for w in over))  # check's and audit's affair


# Rules that are no more


@pytest.mark.parametrize("rule", [*MERGED, *DROPPED])
def test_a_former_rule_is_explained_by_the_one_of_today(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", rule.lower())
    assert code == 0
    first, _, rest = out.partition("\n\n")
    assert first == note(rule) != ""
    assert rest == run(capsys, "explain", current(rule))[1]
    assert f"\n- {first}\n" in (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")


def test_former_rules_are_selected_and_ignored_under_the_id_of_today(
    waived: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(waived())  # deletion protection is off
    code, out, err = run(capsys, "check", folder, "--select", "HF510")
    assert (code, out.split()[1]) == (1, "HF001")
    assert "note: HF510 merged into HF001\n" in err
    assert run(capsys, "check", folder, "--select", "HF011")[0] == 0
    assert run(capsys, "check", folder, "--ignore", "HF510")[0] == 0
    assert run(capsys, "check", folder, "--ignore", "HF302")[0] == 1


def test_ignoring_a_dropped_rule_ignores_no_difference_from_the_contract() -> None:
    arguments = argparse.Namespace(select=None, ignore=",".join(DROPPED))
    assert options.wanted(arguments) == BY_ID.keys()
    assert options.wanted(argparse.Namespace(select=",".join(DROPPED), ignore=None)) == {"HF703"}


def test_a_waiver_of_a_former_rule_counts_on_what_that_rule_was_about() -> None:
    personal = next(s for s in STORES.stores if isinstance(s, Database))
    database = replace(personal, data=Data.OPERATIONAL)  # what protects the other cannot be waived

    def outcome(rule: str, former: str, about: Table | Database) -> Outcome:
        about = replace(about, waivers=(waiver(former),))
        changed = {"tables": (about,)} if isinstance(about, Table) else {"tables": (), "stores": (about,)}
        placed = Placed(replace(shop() if isinstance(about, Table) else STORES, **changed), PROD)
        found = finding(BY_ID[rule], fail("it is off"), placed, about, "somewhere")
        return excused([found], [placed], NOW.date())[0].outcome

    assert outcome("HF002", "HF003", table()) is Outcome.EXEMPT
    assert outcome("HF001", "HF510", database) is Outcome.EXEMPT
    assert outcome("HF001", "HF510", table()) is Outcome.FAIL
    assert outcome("HF002", "HF003", database) is Outcome.FAIL
    assert outcome("HF001", "HF003", table()) is Outcome.FAIL
    for former in (*MERGED, *DROPPED):
        check_waivers(estate(shop(waiver(former))))


# Explain


@pytest.mark.parametrize("rule", [r.id for r in RULES])
def test_every_rule_is_explained(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", rule)
    assert code == 0
    assert out.startswith(rule)
    assert "fix: " in out
    assert f"## {rule}\n" in (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
