"""JUnit XML, for CI servers: a test case per rule and table, passes included."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from holdfast.rules.base import Finding
from holdfast.verdict import Outcome


def render(findings: Sequence[Finding], *, command: str) -> str:
    counts = {o: sum(f.outcome is o for f in findings) for o in Outcome}
    suite = ElementTree.Element(
        "testsuite",
        name=f"holdfast {command}",
        tests=str(len(findings)),
        failures=str(counts[Outcome.FAIL]),
        errors=str(counts[Outcome.UNKNOWN]),
        skipped=str(counts[Outcome.EXEMPT]),
    )
    for f in findings:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f.table or f.where, name=f"{f.rule.id} {f.rule.title}"
        )
        match f.outcome:
            case Outcome.FAIL:
                _child(case, "failure", f)
            case Outcome.UNKNOWN:
                _child(case, "error", f)
            case Outcome.EXEMPT:
                _child(case, "skipped", f)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _child(case: ElementTree.Element, tag: str, f: Finding) -> None:
    child = ElementTree.SubElement(case, tag, message=f.detail or "not required here")
    if tag != "skipped":
        values = [f"{f.path}: {f.before or 'absent'} → {f.after or 'absent'}"] if f.path else []
        child.text = "\n".join([f.where, *values, f"fix: {f.fix}"])
