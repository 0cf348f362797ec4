"""What the audit advises about the documented incident, and what pages tell about imports."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from emulator import Aws, fresh_account
from live_account import log_in
from mutants import tables
from printed import commands, run
from support import MOMENTS, ROOT

from holdfast.audit.audit import audit
from holdfast.aws.options import Options
from holdfast.aws.reader import read_all
from holdfast.local.client import Client
from holdfast.report import FORMATS, render
from holdfast.verdict import Outcome
from stacks import ESTATE, incident

PLACES = {p.id: p for p in ESTATE.placements()}
NOW = MOMENTS["night"]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    found = fresh_account()
    log_in(monkeypatch, found)
    return found


def test_the_documented_incident_advises_no_deploy_that_fails_and_every_command_of_it_works(
    aws: Aws, outdir: Path, tmp_path: Path
) -> None:
    """Some tables stand under other logical ids or in another stack, some in none, some as declared."""
    spoilt = shutil.copytree(outdir, tmp_path / "cdk.out")
    for id_ in ("CallAnalytics-Prod-Storage", "OrangeTheoryStack-prod"):
        file = spoilt / f"{id_}.template.json"
        text = file.read_text()
        for logical in tables(json.loads(text)):
            text = text.replace(logical, f"Old{logical}")
        file.write_text(text)
    manifest = json.loads((spoilt / "manifest.json").read_text())
    manifest["artifacts"]["RCSubscription-prod-Storage"]["properties"]["stackName"] = "OldSubscriptions"
    (spoilt / "manifest.json").write_text(json.dumps(manifest))
    incident.inject(Client(emulator=aws.emulator, account=aws.account), spoilt, now=NOW)
    names = {p.fill(t.name) for p in PLACES.values() for t in p.tables}
    regions = dict.fromkeys(p.region for p in PLACES.values())
    options = Options(regions=tuple(regions), endpoint_url=aws.endpoint)
    accounts = read_all(options, now=NOW, names=names, places=list(PLACES.values()))
    found = audit(ESTATE, accounts, ESTATE.environments, now=NOW)
    before = [f for f in found.findings if f.outcome is Outcome.FAIL]
    for form in FORMATS:
        text = render(form, before, command="audit", env="all", everything=False, colour=False, audit=found)
        deploys_of = re.findall(r"cdk deploy -c env=(\w+)((?: \w+-[\w-]+)+)", text)
        assert {(env, stack) for env, named in deploys_of for stack in named.split()} == {
            ("prod", "LeadTrackingStack-prod"),
            *(("test", f"{name}-test") for name in ("MessageSystemStack", "OrangeTheoryStack")),
            *(("test", f"{name}-Storage") for name in ("CallAnalytics-Test", "RCSubscription-test")),
        }, form
        assert len(deploys_of) == text.count("cdk "), form
    deploys = {f"cdk deploy -c env={p.env.label} {p.id}": p for p in PLACES.values()}

    def deploy(command: str) -> None:
        placed = deploys[command]
        document = json.loads((outdir / f"{placed.id}.template.json").read_text())
        aws.deploy(placed.name, document, placed.region)

    for command in dict.fromkeys(c for f in before for c in commands(f.fix)):
        run(aws, command, estate="stacks:ESTATE", now=NOW, deploy=deploy)


def test_no_page_tells_to_import() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("stacks/*.py")):
        told = re.findall(r"[^.]*`cdk import[^.]*", page.read_text(encoding="utf-8"))
        assert all("fails" in sentence for sentence in told), page
