"""Other companies, from the wheel in an environment of their own: the whole working day, and nothing of this estate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from emulator import Aws, shared
from repositories import git
from support import CONTEXT, ROOT
from wheel import built

from holdfast.local.client import Client, assembly

COMPANIES = ROOT / "tests" / "library" / "companies"
FOREIGN = ("AWS_", "CI", "GITHUB_", "HOLDFAST_", "PYTHON")  # settings of whoever runs the tests
STRANGERS = ("callytics", "acsd2p", "miyabi", "orangetheory")
APP = """
import json
from pathlib import Path

from estate import ESTATE
from holdfast import cdk

cdk.app(ESTATE, json.loads(Path("cdk.json").read_text())["context"]).synth()
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the wheel; third-party packages are those of the project, and the checkout is not among them."""
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder, with_pip=False, symlinks=True)
    binary = folder / "bin" / "python"
    line = ("--python", str(binary), "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    wheel = built(tmp_path_factory.mktemp("wheel"))
    subprocess.run([sys.executable, "-m", "pip", *line, str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "project.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return binary


@dataclass
class Company:
    """A repository of a company, and its commands in it."""

    python: Path
    folder: Path
    said: str = ""

    def run(self, *command: str, status: int = 0, **variables: str) -> str:
        env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
        path = os.pathsep.join((str(self.python.parent), str(ROOT / ".venv" / "bin"), env["PATH"]))
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=env | {"PATH": path, "CDK_DISABLE_CLI_TELEMETRY": "true"} | variables,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.said += done.stdout + done.stderr
        assert done.returncode == status, (command, done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout

    def holdfast(self, *arguments: str, status: int = 0, **variables: str) -> str:
        return self.run("python", "-m", "holdfast.cli", *arguments, status=status, **variables)

    def synth(self) -> None:
        shutil.rmtree(self.folder / "cdk.out", ignore_errors=True)
        self.run("cdk", "synth", "--quiet", "--no-notices")

    def declare(self, change: Callable[[str], str]) -> None:
        file = self.folder / "estate.py"
        before = file.read_text()
        file.write_text(change(before))
        assert file.read_text() != before


def company(name: str, python: Path, folder: Path) -> Company:
    """A repository whose contracts are accepted and committed."""
    shutil.copy(COMPANIES / f"{name}.py", folder / "estate.py")
    (folder / "app.py").write_text(APP)
    (folder / "holdfast.toml").write_text('[tool.holdfast]\nestate = "estate:ESTATE"\n')
    (folder / "cdk.json").write_text(json.dumps({"app": "python app.py", "context": STRICT}))
    (folder / ".gitignore").write_text("cdk.out/\n__pycache__/\n")
    git(folder, "init", "-q", "-b", "main")
    made = Company(python, folder)
    origin = made.run("python", "-c", "import holdfast, sys; print(holdfast.__file__, 'stacks' in sys.modules)")
    (ours,) = python.parents[1].glob("lib/python*/site-packages/holdfast/__init__.py")
    assert origin.split() == [str(ours), "False"]
    made.synth()
    made.holdfast("check", "--env", "all")  # the rules judge alone
    made.holdfast("accept")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    made.holdfast("check")
    made.holdfast("diff")
    made.holdfast("lint", status=LINT[name])
    assert made.holdfast("list", "--format", "json").count('"table"') > 0
    return made


STRICT = {k: v for k, v in CONTEXT.items() if k != "@aws-cdk/core:failSynthOnValidationErrors"} | {"env": "all"}
LINT = {"small": 0, "acme": 1}


def deploy(made: Company) -> None:
    """Every stack into its own account of the emulator."""
    for stack in assembly(made.folder / "cdk.out"):
        client = Client(emulator=shared(), account=stack.account or ANY)
        client.deploy(stack.name, stack.template, stack.region, tags=stack.tags, protected=stack.protected)


ANY = "999999999999"  # where no account is declared, the credentials decide


def credentials(account: str) -> dict[str, str]:
    return {"AWS_EC2_METADATA_DISABLED": "true", **Aws(emulator=shared(), account=account).credentials}


def audited(made: Company, env: str, account: str, status: int = 0) -> list[tuple[str, str, str | None]]:
    where = ("--endpoint-url", shared().endpoint, "--format", "json")
    out = made.holdfast("audit", "--env", env, *where, status=status, **credentials(account))
    return [(f["rule"], f["outcome"], f["table"]) for f in json.loads(out)["findings"]]


def test_a_small_estate_works_from_the_wheel(python: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "small").mkdir()
    made = company("small", python, folder)
    deploy(made)
    assert audited(made, "live", ANY) == []
    made.declare(lambda text: text.replace("Data.PERSONAL", "Data.OPERATIONAL"))
    made.synth()
    assert "orders-live" in made.holdfast("check", status=1)
    assert not [name for name in STRANGERS if name in made.said.lower()]


def test_a_company_with_conventions_of_its_own_works_from_the_wheel(python: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "acme").mkdir()
    made = company("acme", python, folder)
    assert sorted(p.stem for p in (folder / "snapshots").iterdir()) == [
        "Billing-dev",
        "Billing-prod",
        "Billing-prod-us-east-1",
        "Billing-staging",
        "Ledger-prod-333333333333",
    ]
    deploy(made)
    keyed = [("HF007", "fail", "ledger-333333333333")]  # the key is not in the emulator
    assert audited(made, "prod", "333333333333", status=1) == keyed
    assert audited(made, "staging", "222222222222") == []
    production = Aws(emulator=shared(), account="333333333333")
    production.client("dynamodb").update_table(TableName="acme-invoices-prod", DeletionProtectionEnabled=False)
    assert audited(made, "prod", "333333333333", status=1) == [("HF001", "fail", "acme-invoices-prod"), *keyed]
    assert "declared or asked for is 333333333333: log in there" in refused(made, "audit", "prod", "222222222222")
    assert "declared or asked for is 333333333333: log in there" in refused(made, "fix", "prod", "222222222222")
    made.declare(lambda text: text.replace("            recovery_days=20,\n", ""))
    made.synth()
    assert "required" not in made.holdfast("check", status=1)  # 14 days are what the policy asks for
    made.holdfast("accept", status=1)
    made.holdfast("accept", "--because", "a fortnight is enough", "--by", "finance", "--until", "2099-01-01")
    assert "recovery period is lowered" in made.holdfast("diff")
    made.declare(lambda text: text.replace("lifetime=Durable(),", 'lifetime=Transient(ttl="paidOn"),', 1))
    made.synth()
    made.holdfast("check", status=1)
    made.holdfast("accept", "--because", "x", "--by", "y", "--until", "2099-01-01", status=1)  # nobody may
    assert not [name for name in STRANGERS if name in made.said.lower()]


def refused(made: Company, command: str, env: str, account: str) -> str:
    before = made.said
    made.holdfast(command, "--env", env, "--endpoint-url", shared().endpoint, status=2, **credentials(account))
    return made.said.removeprefix(before)
