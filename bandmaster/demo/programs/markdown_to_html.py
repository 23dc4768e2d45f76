"""Convert release notes from Markdown to HTML.

Supports headings, lists, code blocks, emphasis, inline code and links. The page is then read back with a
strict parser: every tag must be closed in order, and no text may be lost.
"""

import re
import xml.etree.ElementTree as ET
from html import escape

NOTES = """\
# Release 2.4
The *quiet* release: **no breaking changes**, only repairs.

## Fixed
- Uploads over 2 GB & under `5 GB` no longer fail
- `a < b` in a template is escaped

Run this, then see [the guide](https://example.org/upgrade):

```
pip install --upgrade shop
shop migrate --check && shop restart
```
"""


def inline(text: str) -> str:
    """Convert what may occur inside a line."""
    text = escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^]]+)]\(([^)]+)\)", r'<a href="\2">\1</a>', text)


def convert(markdown: str) -> str:
    """Convert block by block; blocks are set apart by blank lines, headings stand alone."""
    html = []
    markdown = re.sub(r"^(#+ .*)$", r"\1\n", markdown, flags=re.MULTILINE)
    for block in re.split(r"\n{2,}", markdown.strip()):
        marks, _, rest = block.partition(" ")
        if block.startswith("```"):
            html.append(f"<pre>{escape(block.strip('`').strip(), quote=False)}</pre>")
        elif marks.startswith("#"):
            html.append(f"<h{len(marks)}>{inline(rest)}</h{len(marks)}>")
        elif marks == "-":
            items = [f"  <li>{inline(line[2:])}</li>" for line in block.splitlines()]
            html += ["<ul>", *items, "</ul>"]
        else:
            html.append(f"<p>{inline(block)}</p>")
    return "\n".join(html)


def main() -> None:
    html = convert(NOTES)
    print(html)
    text = "".join(ET.fromstring(f"<main>{html}</main>").itertext())  # fails if a tag is not closed
    expected = re.sub(r"\]\([^)]*\)|[`*#\[]|^- ", "", NOTES, flags=re.MULTILINE).split()
    if text.split() != expected:
        raise SystemExit(f"the page lost or gained text: {text.split()}")


if __name__ == "__main__":
    main()
