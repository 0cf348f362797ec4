"""The wheel, as another company has it: all that the library needs is inside, and nothing of this estate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support import CONTEXT, ROOT
from wheel import built

from holdfast.contract.assets import digest
from holdfast.kinds.database import layer
from holdfast.kinds.database.construct import functions

APP = """
import json
import sys
from datetime import timedelta

from holdfast import Data, DeclarationError, Durable, Environment, Estate, Processor
from holdfast import Stack, Stream, Table, Tier, View, key
from holdfast import cdk
from holdfast import Backups, Database

SHOP = Stack(
    id="Shop-{env}",
    system="shop",
    owner="orders-team",
    tables=(
        Table(
            name="orders-{env}",
            purpose="Orders.",
            key=key("id"),
            lifetime=Durable(),
            data=Data.PERSONAL,
            stream=Stream(view=View.NEW_AND_OLD_IMAGES, consumer="mailer-{env}"),
        ),
    ),
    processors=(Processor(name="mailer-{env}", table="orders-{env}", code="mailer"),),
    stores=(
        Database(
            name="shop-{env}",
            purpose="Customers.",
            schema="shop",
            data=Data.PERSONAL,
            backups=Backups(schedules={"daily": "cron(0 2 * * ? *)"}, keep=timedelta(days=90)),
        ),
    ),
)
ESTATE = Estate(
    name="shop",
    environments=(Environment("live", Tier.PROD, "eu-west-1"), Environment("dev", Tier.TEST, "ap-south-1")),
    stacks=(SHOP,),
)
if __name__ == "__main__":
    try:
        cdk.app(ESTATE, json.loads(sys.argv[1]) | {"env": "all"}, "cdk.out").synth()
    except DeclarationError as error:
        sys.exit(f"app: {error}")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_ships_the_library_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
        text = b"".join(content.read(name) for name in names if name.startswith("holdfast/"))
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"holdfast"}
    database = "holdfast/functions/database"
    assert {
        "holdfast/py.typed",
        "holdfast/cfn/schemas.json",
        *(f"{database}/{name}" for name in ("handler.py", "layer.lock", "rds-ca.pem")),
    } <= names
    assert not [name for name in ("callytics", "acsd2p", "miyabi", "orangetheory") if name.encode() in text.lower()]


@pytest.fixture(scope="module")
def company(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has the wheel, and nothing of this repository but what pip installed for it."""
    folder = tmp_path_factory.mktemp("company")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(folder / "site")
    for name, text in {
        "app.py": APP,
        "holdfast.toml": '[tool.holdfast]\nestate = "app:ESTATE"\n',
        "mailer/handler.py": "def handler(event, context): ...\n",
        "schemas/shop/V001__tables.sql": "create table customer (id bigint primary key);\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(company: Path, *arguments: str) -> tuple[int, str, str]:
    """In the company's project; the wheel stands before the checkout, which is installed here, too."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDFAST_", "PYTHON"))}
    env |= {"PYTHONPATH": str(company / "site")}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=company, env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_it_is_the_wheel_that_is_used_and_it_knows_its_version(company: Path) -> None:
    line = "from importlib.util import find_spec; print(find_spec('holdfast').origin, find_spec('stacks'))"
    code, out, _ = run(company, "-c", line)
    assert (code, out.split()) == (0, [str(company / "site" / "holdfast" / "__init__.py"), "None"])
    version = next((company / "site").glob("holdfast-*.dist-info")).name.split("-")[1].removesuffix(".dist")
    assert run(company, "-m", "holdfast.cli", "--version") == (0, f"holdfast {version}\n", "")


def test_another_company_synthesizes_a_database_and_a_stream_processor(company: Path) -> None:
    context = json.dumps(CONTEXT)
    code, _, err = run(company, "app.py", context)
    assert (code, err.splitlines()[-1]) == (
        1,
        "app: the layer of the database functions is not built: run `holdfast layer`",
    )
    assert "Traceback" not in err
    (company / "build").symlink_to(ROOT / "build")  # what the command builds; here nothing may be fetched
    code, _, err = run(company, "app.py", context)
    assert code == 0, err
    carried = {digest(folder) for folder in (company / "cdk.out").glob("asset.*") if folder.is_dir()}
    # What the wheel deploys is what the checkout does, file by file.
    checkout = (functions.staged(company, "shop"), ROOT / layer.FOLDER, company / "mailer")
    assert {digest(folder) for folder in checkout} <= carried
    code, out, err = run(company, "-m", "holdfast.cli", "check", "--env", "all")
    assert (code, [line for line in out.splitlines() if "FAIL" in line]) == (0, []), err


def test_code_that_is_not_there_is_one_line(company: Path) -> None:
    (company / "mailer").rename(company / "elsewhere")
    try:
        code, _, err = run(company, "app.py", json.dumps(CONTEXT))
    finally:
        (company / "elsewhere").rename(company / "mailer")
    assert (code, err.splitlines()[-1]) == (
        1,
        f"app: processor mailer-{{env}}: there is no mailer/handler.py in {company}",
    )
