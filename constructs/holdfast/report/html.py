"""One HTML page that needs nothing else: no network, no framework, no second file. It also prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from holdfast.model.facts import Guard
from holdfast.report.text import NAMED, PARTS, WORDS, against, grouped, running, unread
from holdfast.rules.base import Finding, Severity
from holdfast.rules.use import used
from holdfast.text import printable
from holdfast.verdict import Outcome

if TYPE_CHECKING:
    from holdfast.audit.audit import Audit
    from holdfast.audit.causes import Cause
    from holdfast.audit.rows import Row

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
.counts { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; padding: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: .4rem; padding: .3rem .7rem; }
.counts b { font-size: 1.2rem; }
fieldset { border: 1px solid var(--line); border-radius: .4rem; display: flex; flex-wrap: wrap; gap: 1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
th { background: var(--soft); } td.gap { background: #d3302f22; font-weight: 600; } td.unsure { background: #e6a70022; }
section.about { border: 1px solid var(--line); border-radius: .4rem; margin: .75rem 0; padding: .75rem 1rem; }
.place { opacity: .75; font-size: .85rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
article, .cause { border-left: .3rem solid #888; margin: .6rem 0; padding: .1rem .8rem; }
article p, .cause p { margin: .15rem 0; overflow-wrap: anywhere; }
.critical { border-color: #b00020; } .high { border-color: #d9480f; } .medium { border-color: #e6a700; }
.low { border-color: #2b7bb9; } .tag { font-size: .8rem; font-weight: 700; text-transform: uppercase; }
code { font: .85rem/1.4 ui-monospace, monospace; } [hidden] { display: none !important; }
@media print {
  :root { color-scheme: light; } body { font-size: 10pt; margin: 0; max-width: none; }
  fieldset { display: none; } section.about, article, tr { break-inside: avoid; } thead { display: table-header-group; }
}
"""
# Shows and hides by severity; a page without scripts simply shows everything.
SCRIPT = """
const boxes = document.querySelectorAll("fieldset input");
function show() {
  const on = new Set([...boxes].filter(b => b.checked).map(b => b.value));
  for (const section of document.querySelectorAll("section.about")) {
    const all = [...section.querySelectorAll("article")];
    for (const each of all) each.hidden = !on.has(each.dataset.severity);
    section.hidden = all.every(each => each.hidden);
  }
}
for (const box of boxes) box.addEventListener("change", show);
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def render(
    shown: Sequence[Finding],
    findings: Sequence[Finding],
    *,
    command: str,
    env: str,
    audit: Audit | None = None,
    found: Sequence[Cause] = (),
) -> str:
    return "\n".join(_page(shown, findings, f"holdfast {command}: {env}", audit, found))


def _page(
    shown: Sequence[Finding], findings: Sequence[Finding], title: str, audit: Audit | None, found: Sequence[Cause]
) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>"
    counts = {o.value: sum(f.outcome is o for f in findings) for o in Outcome}
    yield '<ul class="counts">'
    yield from (f"<li><b>{count}</b> {name}</li>" for name, count in counts.items())
    yield "</ul>"
    if audit:
        accounts = [f"{account} in {region}" for account, region in audit.read]
        yield f"<p>{audit.at:%Y-%m-%d %H:%M} UTC, account {escape(', '.join(accounts))}, {escape(against(audit))}</p>"
        yield f"<p>{escape(unread(audit))}</p>" if audit.elsewhere else ""
        yield from _causes(found)
        yield "<h2>Contracts</h2>"
        yield from (f"<p>{escape(line)}</p>" for line in running(audit))
        yield from _matrix(audit.rows)
    yield "<h2>Findings</h2>"
    severities = [s for s in Severity if any(f.rule.severity is s for f in shown)]
    if not shown:
        yield "<p>Nothing failed and nothing is unknown.</p>"
    else:
        yield "<fieldset><legend>Show</legend>"
        for s in severities:
            count = sum(f.rule.severity is s for f in shown)
            yield f'<label><input type="checkbox" value="{s.value}" checked> {s.value} ({count})</label>'
        yield "</fieldset>"
    of = {id(f): n for n, c in enumerate(found, 1) for f in c.findings}
    for (environment, name), group in grouped(shown):
        first = group[0]
        place = [p for p in (first.stack if first.table else "", environment or "", first.declared or "") if p]
        yield f'<section class="about">\n<h3>{escape(name)}</h3>\n<p class="place">{escape(", ".join(place))}</p>'
        for f in group:
            yield from _finding(f, of.get(id(f)))
        yield "</section>"
    yield f"<script>{SCRIPT}</script>\n</body>\n</html>"


def _causes(found: Sequence[Cause]) -> Iterator[str]:
    yield "<h2>Causes</h2>\n<ol>" if found else ""
    for c in found:
        severity = c.severity.value
        word = f"{WORDS[Outcome.UNKNOWN if c.unknown else Outcome.FAIL]} {severity}"
        yield f'<li class="cause {severity}">'
        yield f'<p><span class="tag">{word}</span> <b>{escape(printable(c.says))}</b></p>'
        yield from (f"<p>{escape(printable(part))}</p>" for part in c.parts[:PARTS])
        yield f"<p>First {escape(printable(c.before))}.</p>" if c.before else ""
        yield f"<p><code>{escape(printable(c.command or c.fix))}</code></p>"
        yield f"<p>Until then: <code>{escape(printable(c.meanwhile))}</code></p>" if c.meanwhile else ""
        names, more = ", ".join(c.tables[:NAMED]), len(c.tables) - NAMED
        yield f'<p class="place">{escape(printable(names))}{f" and {more:,} more" if more > 0 else ""}</p>\n</li>'
    yield "</ol>" if found else ""


def _matrix(rows: Sequence[Row]) -> Iterator[str]:
    yield "<h2>Intent, deployed, live</h2>"
    yield '<div class="scroll"><table>\n<thead><tr><th>table</th><th>stack</th><th>environment</th><th>state</th>'
    yield "<th>use</th>" + "".join(f"<th>{escape(guard.label)}</th>" for guard in Guard) + "</tr></thead>\n<tbody>"
    for r in rows:
        words = (r.table, r.stack, r.environment, r.state, used(r.live) if r.live else "")
        cells = "".join(f"<td>{escape(w)}</td>" for w in words)
        yield f"<tr>{cells}{''.join(_cell(r.guards[g]) for g in Guard)}</tr>"
    yield "</tbody></table></div>"


def _cell(columns: tuple[str, str, str]) -> str:
    intent, deployed, live = columns
    if intent == "-":
        return "<td>not asked</td>"
    seen = [c for c in (deployed, live) if c != "-"]
    if all(c == "on" for c in seen):
        return "<td>on</td>"
    kind = "unsure" if set(seen) <= {"on", "unknown"} else "gap"
    return f'<td class="{kind}">{escape(intent)} / {escape(deployed)} / {escape(live)}</td>'


def _finding(f: Finding, cause: int | None) -> Iterator[str]:
    severity = f.rule.severity.value
    yield f'<article class="{severity}" data-severity="{severity}">'
    yield f'<p><span class="tag">{WORDS[f.outcome]} {severity}</span> {f.rule.id} {escape(f.rule.title)}</p>'
    yield f"<p><b>{escape(f.detail)}</b></p>" if f.detail else ""
    if f.change:
        values = [v if v is not None else "absent" for v in (f.before, f.after)]
        yield f"<p>{escape(f.change)} <code>{escape(f.path)}</code>: {escape(' → '.join(values))}</p>"
    if f.gap:
        gap = f.gap
        columns = f"intent {gap.intent}, deployed {gap.deployed}, live {gap.live}"
        yield f"<p>{escape(columns)}: {escape(gap.says)}</p>"
        yield f"<p>{escape(gap.age)}</p>"
    yield f"<p>Fix: <code>{escape(f.fix)}</code></p>" if f.fix else ""
    yield f"<p class='place'>{escape(f.where)}{f', cause {cause}' if cause else ''}</p>"
    yield f"<p class='place'>{escape(', '.join(f.rule.controls))}</p>" if f.rule.controls else ""
    yield "</article>"
