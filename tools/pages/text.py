# SPDX-License-Identifier: BSL-1.0
"""Text as HTML: comments of headers, C++ with links to names, Markdown as GitHub shows it."""
import html
import posixpath
import re

import markdown_it
import pygments
import pygments.lexers
from pygments.token import Token

ANCHOR = re.compile(r"[^a-z0-9 _-]")


def anchor_of(heading):
    """What GitHub makes of a heading; test/style/links has the same rule."""
    return ANCHOR.sub("", heading.lower()).replace(" ", "-")


def relative(page, target):
    """The link from one page to another; both are paths from the site's root."""
    path, mark, anchor = target.partition("#")
    if path == page and mark:
        return "#" + anchor
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor


class Names:
    """Where names and headers have their pages."""

    own = ""  # what is being described: no link leads to it

    def __init__(self):
        self.pages = {}  # allreduce, model::logp: page#anchor
        self.headers = {}  # bough/allreduce.hpp: page
        self.files = {}  # a file of the project: page

    def add(self, name, target):
        if self.pages.get(name, target) != target:
            target = "reference/names.html#" + name.replace("::", ".")  # it stands in several headers
        self.pages[name] = target

    def find(self, name):
        return self.pages.get(name.removeprefix("bough::").removeprefix("::"), "")


CLASSES = ((Token.Comment.Preproc, "pp"), (Token.Comment, "c"), (Token.Keyword, "k"), (Token.Literal.String, "s"),
           (Token.Literal.Number, "m"), (Token.Name.Builtin, "k"))


def code(text, language, names, page):
    """Highlighted; in C++ the names of bough are links to their pages."""
    try:
        lexer = pygments.lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except pygments.util.ClassNotFound:
        return html.escape(text, quote=False)
    made = []
    tokens = [(kind, value) for kind, value in lexer.get_tokens(text) if value]
    at = 0
    while at < len(tokens):
        kind, value = tokens[at]
        at += 1
        if language == "cpp" and re.fullmatch(r"[A-Za-z_]\w*", value) and kind not in Token.Comment and kind not in Token.Keyword:
            words = [value]
            while at + 1 < len(tokens) and tokens[at][1] == ":" and tokens[at + 1][1] == ":" or \
                    at < len(tokens) and tokens[at][1] == "::":  # one token or two
                step = 1 if tokens[at][1] == "::" else 2
                if at + step >= len(tokens) or not re.fullmatch(r"[A-Za-z_]\w*", tokens[at + step][1]):
                    break
                words.append(tokens[at + step][1])
                at += step + 1
            made.append(linked(words, made, names, page))
            continue
        shown = html.escape(value, quote=False)
        for token, name in CLASSES:
            if kind in token and value.strip():
                shown = f'<span class="{name}">{shown}</span>'
                break
        made.append(shown)
    return "".join(made)


def linked(words, before, names, page):
    """A qualified name: its longest part that has a page is a link to it."""
    text = "::".join(words)
    member = before and before[-1].rstrip().endswith((".", "-&gt;"))
    if member or words[0] == "std":
        return html.escape(text)
    for last in range(len(words), 0, -1):
        known = words[:last]
        target = names.find("::".join(known)) if words[0] == "bough" or len(known) > 1 or names.plain else ""
        if target and target != names.own:
            rest = "".join("::" + word for word in words[last:])
            return f'<a href="{relative(page, target)}">{"::".join(known)}</a>{rest}'
    return html.escape(text)


class Writer:
    """Comments and pages, for one page of the site."""

    def __init__(self, names, page):
        self.names = names
        self.page = page
        self.linked = set()

    def code(self, text, language="cpp", plain=False):
        self.names.plain = plain
        return code(text, language, self.names, self.page)

    def link(self, target, shown):
        return f'<a href="{relative(self.page, target)}">{shown}</a>'

    def span(self, text):
        """`text` in a sentence."""
        shown = f"<code>{html.escape(text, quote=False)}</code>"
        name = re.fullmatch(r"(?:bough::)?((?:\w+::)*\w+)(?:\(.*\)|\{.*\}|<.*>)?", text)
        header = re.fullmatch(r"<?(bough/[\w/]+\.hpp)>?", text)
        if header and header.group(1) in self.names.headers:
            return self.link(self.names.headers[header.group(1)], shown)
        if name and self.names.find(name.group(1)):
            return self.link(self.names.find(name.group(1)), shown)
        if text in self.names.files:
            return self.link(self.names.files[text], shown)
        return shown

    def sentence(self, text):
        """Of a comment: `code`, headers and documents become links."""
        made = []
        for part in re.split(r"(`[^`\n]+`|bough/[\w/]+\.hpp|doc/[\w/]+(?:\.md)?|\b(?:model|goal|nic|testing)::\w+|https?://[^\s,;)]+"
                             r"|\b[a-z]\w*_\w+|\b(?:[A-Z][a-z]+){2,}\b)", text):
            if part.startswith("`") and part.endswith("`") and len(part) > 2:
                made.append(self.span(part[1:-1]))
            elif part in self.names.headers:
                made.append(self.link(self.names.headers[part], f"<code>{part}</code>"))
            elif part.startswith("doc/"):
                target = self.names.files.get(part) or next(
                    (self.names.files[f] for f in sorted(self.names.files) if f.startswith(part) and f.endswith(".md")), None)
                made.append(self.link(target, part) if target else html.escape(part))
            elif re.fullmatch(r"[\w:]+", part) and ("::" in part or "_" in part or re.fullmatch(r"(?:[A-Z][a-z]+){2,}", part)) and \
                    self.names.find(part) not in ("", self.names.own) and part not in self.linked:
                self.linked.add(part)  # once in a comment
                made.append(self.link(self.names.find(part), f"<code>{part}</code>"))
            elif part.startswith("http"):
                made.append(f'<a href="{html.escape(part)}">{html.escape(part)}</a>')
            else:
                made.append(html.escape(part, quote=False))
        text = "".join(made)
        return re.sub(r"\*([\w ,-]+)\*", r"<em>\1</em>", text)

    def comment(self, text):
        """A comment: paragraphs, labels with what is said of them, tables, code and pictures."""
        made = []
        self.linked = set()
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                at += 1
                continue
            end = at
            if line.startswith("  "):
                while end < len(lines) and (lines[end].startswith("  ") or
                                            not lines[end].strip() and end + 1 < len(lines) and lines[end + 1].startswith("  ")):
                    end += 1
                made.append(self.block(lines[at:end]))
            elif labels := self.labels(lines, at):
                end, said = labels
                made.append(said)
            else:
                while end < len(lines) and lines[end].strip() and not lines[end].startswith("  ") and \
                        (end == at or not self.labels(lines, end)):
                    end += 1
                made.append(f"<p>{self.sentence(' '.join(lines[at:end]))}</p>")
            at = end
        return "\n".join(made)

    def labels(self, lines, at):
        """`Ranks    any` and the like, from here on."""
        rows = []
        end = at
        while end < len(lines):
            match = re.match(r"([A-Z][a-z]+(?: [a-z]+)?)( +)(\S.*)", lines[end])
            if not match or len(match.group(2)) == 1 and match.group(1) != "Determinism":
                match = re.match(r"(Determinism)( )(\S.*)", lines[end])
            if not match:
                break
            column = match.start(3)
            said = [match.group(3)]
            end += 1
            while end < len(lines) and lines[end].startswith(" " * min(column, 8)) and lines[end].strip():
                said.append(lines[end].strip())
                end += 1
            rows.append((match.group(1), " ".join(said), column))
            if end < len(lines) and not lines[end].strip():
                break
        if not rows:
            return None
        return end, '<dl class="labels">' + "".join(
            f"<dt>{html.escape(name)}</dt><dd>{self.sentence(said)}</dd>" for name, said, _ in rows) + "</dl>"

    def block(self, lines):
        """Lines that stand in: two columns, or as they are."""
        while not lines[-1].strip():
            lines = lines[:-1]
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        lines = [line[indent:] for line in lines]
        rows = []
        column = None
        for line in lines:
            match = re.fullmatch(r"(\S(?:.*?\S)?) {2,}(\S.*)", line)
            if match and "   " not in match.group(2) and (column is None or match.start(2) == column):
                column = match.start(2)
                rows.append([match.group(1), match.group(2)])
            elif column and re.match(rf"\S{{{column - 1}}} \S", line):  # a label as wide as the column: T10
                rows.append([line[:column - 1], line[column:]])
            elif column and line.startswith(" " * column) and line[column:column + 1].strip():
                rows[-1][1] += " " + line[column:]
            elif line.strip():
                column = None
                break
        if column and len(rows) > 1 and not any(re.search(r" {2,}", said) for _, said in rows):
            narrow = " narrow" if max(len(name) for name, _ in rows) <= 4 else ""
            return f'<table class="said{narrow}"><tbody>' + "".join(
                f"<tr><th>{self.inline_code(name)}</th><td>{self.sentence(said)}</td></tr>" for name, said in rows) + "</tbody></table>"
        text = "\n".join(lines)
        language = "cpp" if re.search(r"[;{}]|\w\(|bough::", text) and not re.search(r"[│├└]", text) else "text"
        return f"<pre><code>{self.code(text, language, plain=False)}</code></pre>"

    def inline_code(self, text):
        return f"<code>{self.code(text, 'cpp', plain=True)}</code>"


def markdown(text, writer, resolve):
    """A guide as HTML; resolve(link) says where a link leads. Gives (html, headings)."""
    parser = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    headings = []
    seen = {}

    def fence(renderer, tokens, at, options, env):
        token = tokens[at]
        if at > 0 and re.search(r"<!-- quote \S+\.csv -->", tokens[at - 1].content):
            rows = [line.split(",") for line in token.content.strip().split("\n")]
            if len({len(row) for row in rows}) == 1 and len(rows) > 1:
                lines = ["".join(f"<{cell}>{html.escape(value).replace('_', ' ')}</{cell}>" for value in row)
                         for row, cell in zip(rows, ["th"] + ["td"] * len(rows))]
                return f'<div class="wide"><table class="figures"><thead><tr>{lines[0]}</tr></thead><tbody>' + "".join(
                    f"<tr>{line}</tr>" for line in lines[1:]) + "</tbody></table></div>\n"
        language = token.info.strip().split(" ")[0]
        language = {"sh": "bash", "c++": "cpp", "": "text"}.get(language, language)
        return f"<pre><code>{writer.code(token.content, language)}</code></pre>\n"

    def inline(renderer, tokens, at, options, env):
        return writer.span(tokens[at].content) if not env.get("link") else \
            f"<code>{html.escape(tokens[at].content, quote=False)}</code>"

    def heading(renderer, tokens, at, options, env):
        said = tokens[at + 1].children
        plain = "".join(t.content for t in said if t.type in ("text", "code_inline"))
        anchor = anchor_of(plain)
        number = seen.get(anchor, 0)
        seen[anchor] = number + 1
        if number:
            anchor += f"-{number}"
        headings.append((int(tokens[at].tag[1]), anchor, plain))
        return f'<{tokens[at].tag} id="{anchor}">'

    def link_open(renderer, tokens, at, options, env):
        env["link"] = True
        target = resolve(tokens[at].attrs["href"])
        return f'<a href="{html.escape(target)}">'

    def link_close(renderer, tokens, at, options, env):
        env["link"] = False
        return "</a>"

    def image(renderer, tokens, at, options, env):
        source = resolve(tokens[at].attrs["src"])
        return f'<img src="{html.escape(source)}" alt="{html.escape(tokens[at].content)}" loading="lazy">'

    def raw(renderer, tokens, at, options, env):
        return "" if tokens[at].content.lstrip().startswith("<!--") else tokens[at].content

    for name, rule in (("fence", fence), ("code_inline", inline), ("heading_open", heading), ("link_open", link_open),
                       ("link_close", link_close), ("image", image), ("html_block", raw), ("html_inline", raw),
                       ("table_open", lambda *a: '<div class="wide"><table>'), ("table_close", lambda *a: "</table></div>")):
        parser.add_render_rule(name, rule)
    return parser.render(text), headings
