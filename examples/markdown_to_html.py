"""Convert release notes from Markdown to HTML.

Supports headings, lists, code blocks, emphasis and links. An HTML parser then reads the page: tags must be
closed in order, and no text may be lost.
"""

import re
from html import escape
from html.parser import HTMLParser

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
        if block.startswith("```"):
            html.append(f"<pre>{escape(block.strip('`').strip(), quote=False)}</pre>")
        elif heading := re.match(r"(#{1,6}) (.*)", block):
            level = len(heading[1])
            html.append(f"<h{level}>{inline(heading[2])}</h{level}>")
        elif block.startswith("- "):
            items = "".join(f"\n  <li>{inline(line[2:])}</li>" for line in block.splitlines())
            html.append(f"<ul>{items}\n</ul>")
        else:
            html.append(f"<p>{inline(block)}</p>")
    return "\n".join(html)


class Checker(HTMLParser):
    """Follows the open tags and gathers the text."""

    text = ""
    open: tuple[str, ...] = ()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open += (tag,)

    def handle_endtag(self, tag: str) -> None:
        if self.open[-1:] != (tag,):
            raise SystemExit(f"</{tag}> closes nothing")
        self.open = self.open[:-1]

    def handle_data(self, data: str) -> None:
        self.text += data


def main() -> None:
    html = convert(NOTES)
    print(html)
    checker = Checker()
    checker.feed(html)
    checker.close()
    expected = re.sub(r"\]\([^)]*\)|[`*#\[]|^- ", "", NOTES, flags=re.MULTILINE).split()
    if checker.open or checker.text.split() != expected:
        raise SystemExit(f"the page lost or gained text: {checker.text.split()}")


if __name__ == "__main__":
    main()
