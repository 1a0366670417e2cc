"""What a page of the site has to be, looked at in a browser and in its text.

Where the environment variable ``COURSE_AXE`` names a copy of axe.min.js (``npm pack
axe-core@4.14.1``), pages and slides are held against its rules for accessible pages, too.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links", "look_at", "violations"]

_AXE = os.environ.get("COURSE_AXE")
_VIOLATIONS = """async () => {
  const found = await axe.run(document, { preload: false, resultTypes: ["violations"] });
  return found.violations.map((one) => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 150)]);
}"""

# Formulas that nobody has set, boxes with nothing in them, pictures that are not there or complain.
_RAW = """() => {
  const found = [], main = document.querySelector("main");
  const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (node.parentElement.closest("script, pre, code, .katex")) continue;
    const is = /\\$[^$]+\\$|\\\\\\(|\\\\\\[|\\\\(frac|sum|alpha|cdot)/;
    if (is.test(node.data)) found.push(node.data.trim());
  }
  return [...found, ...[...document.querySelectorAll(".katex-error")].map((n) => n.title)];
}"""
_EMPTY = """() => [...document.querySelectorAll("main .block, main .lm-slot, main .wide, main img")]
  .filter((one) => {
    if (!one.checkVisibility()) return false;
    const box = one.getBoundingClientRect();
    return box.height < 9 || box.width < 9 || (one.matches("img") && !one.naturalWidth);
  }).map((one) => one.outerHTML.slice(0, 90))"""
_OPEN = "() => document.querySelectorAll('main details').forEach((one) => { one.open = true; })"
_DRAWN = """() => [...document.querySelectorAll(".lm-slot")].every((slot) => slot.dataset.drawn
  && slot.querySelector(".lm-root svg[role=img], .lm-root canvas"))"""
_SHOW_ALL = """async () => {
  for (const slot of document.querySelectorAll(".lm-slot:not([data-drawn])")) {
    slot.scrollIntoView();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
}"""
# Presses Play in every player, and says in which the time has not moved two seconds later.
_PLAYED = """async () => {
  const roots = [...document.querySelectorAll(".lm-root")].filter((root) => root.transport);
  const times = () => roots.map((root) => root.querySelector(".lm-bar input[type=range]").value);
  const press = (name) => {
    for (const root of roots) root.querySelector(`[aria-label=${name}]`)?.click();
  };
  roots.forEach((root) => root.transport.seekFraction(0));
  const before = times();
  press("play");
  let still = roots;
  for (let end = performance.now() + 5000; still.length && performance.now() < end;) {
    await new Promise((done) => setTimeout(done, 50));
    const now = times();
    still = roots.filter((root, i) => now[i] === before[i]);
  }
  press("pause");
  return [roots.length, still.map((root) => root.ariaLabel)];
}"""
_ANSWERED = """() => [...document.querySelectorAll(".lm-explore")].map((root) => {
  const before = root.innerHTML, slider = root.querySelector(".lm-knob input");
  if (!slider) root.querySelector(".lm-knob button[aria-pressed=false]").click();
  else {
    slider.value = slider.value === slider.max ? slider.min : slider.max;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
  return root.innerHTML === before ? "no answer" : "";
}).filter(Boolean)"""


def violations(page):
    """List the rules of axe that a loaded page breaks as it is now; none without axe."""
    if not _AXE:
        return []
    if not page.evaluate("!!window.axe"):
        page.evaluate(Path(_AXE).read_text(encoding="utf-8"))
    return page.evaluate(_VIOLATIONS)


def look_at(page, complaints):
    """Open and move all that a loaded page has; return the number of players, and what is wrong."""
    page.evaluate(_OPEN)
    page.evaluate(_SHOW_ALL)
    page.wait_for_function(_DRAWN, timeout=120_000)
    found = {"raw": page.evaluate(_RAW), "empty": page.evaluate(_EMPTY)}
    players, found["stuck"] = page.evaluate(_PLAYED)
    found["silent"] = page.evaluate(_ANSWERED)
    found["errors"] = page.locator(".lm-error:not([hidden])").all_inner_texts()
    found["titles"] = page.locator("h1").all_inner_texts()[1:]
    found["complaints"] = list(complaints)
    return players, {what: seen for what, seen in found.items() if seen}


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.to = set(), []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.update(filter(None, [attrs.get("id"), attrs.get("name") if tag == "a" else None]))
        self.to += [attrs[name] for name in ("href", "src") if attrs.get(name)]


def broken_links(site):
    """List the links of a site to pages, parts of pages and files that are not there."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = _Links()
        pages[path].feed(re.sub(r"<script type=\"application/json\".*?</script>", "",
                                path.read_text(encoding="utf-8"), flags=re.DOTALL))  # fmt: skip
    broken = []
    for path, links in pages.items():
        for link in links.to:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_deck = to.parent.name == "slides"
            part = "" if is_deck else unquote(parts.fragment)
            if not to.is_file() or (part and to in pages and part not in pages[to].ids):
                broken.append((path.relative_to(site).as_posix(), link))
    return broken
