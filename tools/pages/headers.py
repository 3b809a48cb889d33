# SPDX-License-Identifier: BSL-1.0
"""Reads bough's headers: every public name with its signature, comment, members and place.

Public is what lies in namespace bough, or in one of its namespaces but `detail`. libclang says what a
declaration is and where it stands; signatures and comments are the text of the header itself."""
import os
import re
from dataclasses import dataclass, field

import clang.cindex as cindex
from clang.cindex import CursorKind as Kind

CLASSES = {Kind.STRUCT_DECL, Kind.CLASS_DECL, Kind.CLASS_TEMPLATE, Kind.UNION_DECL}
FUNCTIONS = {Kind.FUNCTION_DECL, Kind.FUNCTION_TEMPLATE, Kind.CXX_METHOD, Kind.CONSTRUCTOR, Kind.CONVERSION_FUNCTION}
ALIASES = {Kind.TYPE_ALIAS_DECL, Kind.TYPE_ALIAS_TEMPLATE_DECL, Kind.TYPEDEF_DECL}
VARIABLES = {Kind.VAR_DECL, Kind.FIELD_DECL, Kind.UNEXPOSED_DECL}  # unexposed: templates of variables
HIDDEN = re.compile(r"(^|::)detail(::|$)")


@dataclass
class Declaration:
    """One declaration: its text without a body, and what is said of it."""
    text: str
    comment: str = ""  # lines without the slashes
    line: int = 0
    last: int = 0


@dataclass
class Entry:
    """A name, with all its declarations in one header."""
    name: str
    scope: str  # "" or "model::"
    kind: str  # class, function, concept, alias, value, enum
    header: str  # where it stands: bough/x/y.hpp
    declarations: list = field(default_factory=list)
    members: list = field(default_factory=list)  # of Entry
    definition: str = ""  # of a concept

    @property
    def full(self):
        return self.scope + self.name

    @property
    def comment(self):
        return "\n".join(d.comment for d in self.declarations if d.comment)


@dataclass
class Header:
    path: str  # bough/x/y.hpp
    summary: str = ""
    comment: str = ""
    entries: list = field(default_factory=list)


def slashes(line):
    return re.match(r"\s*//", line) is not None


def uncomment(line):
    return re.sub(r"^\s*// ?", "", line).rstrip()


class Source:
    """The lines of a header."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.lines = self.text.split("\n")
        self.offsets = [0]
        for line in self.lines:
            self.offsets.append(self.offsets[-1] + len(line.encode()) + 1)

    def introduction(self):
        """The comment below the SPDX line."""
        said = []
        for line in self.lines[1:]:
            if not slashes(line):
                break
            said.append(uncomment(line))
        return said

    def above(self, number):
        """The comment that ends above line `number` (from 1)."""
        said = []
        at = number - 2
        while at >= 0 and slashes(self.lines[at]):
            said.insert(0, uncomment(self.lines[at]))
            at -= 1
        return [] if at < 0 else said  # the introduction belongs to the header

    def behind(self, first, last):
        """The comment behind line `last`, or behind line `first`, and the lines that go on with it."""
        for number in dict.fromkeys((last, first)):
            line = self.lines[number - 1]
            if number != last and line.lstrip().startswith("template"):
                break
            at = comment_at(line)
            if at <= 0 or not line[:at].strip():
                continue
            said = [uncomment(line[at:])]
            for more in self.lines[number:]:
                if not slashes(more) or more.index("//") != at:
                    break
                said.append(uncomment(more))
            return said
        return []


def comment_at(line):
    """Where // begins, outside of strings; -1: nowhere."""
    inside = False
    for at, c in enumerate(line):
        if c == '"' and (at == 0 or line[at - 1] not in "\\'"):
            inside = not inside
        if not inside and line.startswith("//", at):
            return at
    return -1


def without_comments(text):
    lines = []
    for line in text.split("\n"):
        at = comment_at(line)
        if at >= 0:
            line = line[:at]
            if not line.strip():
                continue
        lines.append(line.rstrip())
    return "\n".join(lines)


def cut(text, kind):
    """A declaration without its body."""
    depth = 0
    at = 0
    while at < len(text):
        c = text[at]
        if c == '"':
            at = text.index('"', at + 1)
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "{" and depth == 0:
            before = text[:at].rstrip()
            if kind == "concept" or asks(before) or (kind == "value" and len(text) < 200 and "\n" not in text[at:]):
                at = closing(text, at)
            else:
                return before
        elif c == ":" and depth == 0 and kind in ("function", "class") and ":" not in (text[at - 1], text[at + 1:at + 2]) and \
                kind == "function" and not re.search(r"\b(public|private|protected)\s*$", text[:at]):
            return text[:at].rstrip()
        elif c == ";" and depth == 0:
            return text[:at].rstrip()
        elif kind == "value" and c == "=" and depth == 0 and len(text) > 300:
            return text[:at].rstrip()
        at += 1
    return text.rstrip()


def asks(text):
    """Does the text end where a requires-expression has its brace?"""
    if text.endswith(")"):
        depth = 0
        for at in range(len(text) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(text[at], 0)
            if depth == 0:
                text = text[:at].rstrip()
                break
    match = re.search(r"(\S+)\s+requires$|(\()requires$", text)
    return bool(match) and (match.group(0).startswith("(") or match.group(1).endswith(("=", "&&", "||", "(", "requires", "!")))


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def dedent(text, indent):
    """Without the indent of its first line."""
    first, *rest = text.split("\n")
    return "\n".join([first] + [line[indent:] if not line[:indent].strip() else line.lstrip() for line in rest])


class Reader:
    def __init__(self, include):
        self.include = include
        self.sources = {}
        self.headers = {}
        self.concepts = {}  # every concept, hidden ones included: its definition
        self.explained = {}  # what explain_ functions say of one
        self.problems = []

    def source(self, path):
        if path not in self.sources:
            self.sources[path] = Source(os.path.join(self.include, path))
        return self.sources[path]

    def read(self, arguments):
        every = []
        for folder, _, files in os.walk(self.include):
            every += [os.path.relpath(os.path.join(folder, f), self.include) for f in files if f.endswith(".hpp")]
        every.sort()
        unit = "".join(f"#include <{header}>\n" for header in every if "/detail/" not in header)
        index = cindex.Index.create()
        parsed = index.parse("all.cpp", args=["-std=c++20", "-DBOUGH_PAGES", "-I", self.include] + arguments,
                             unsaved_files=[("all.cpp", unit)],
                             options=cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
        self.problems = [str(d) for d in parsed.diagnostics if d.severity >= cindex.Diagnostic.Error]
        for header in every:
            said = self.source(header).introduction()
            self.headers[header] = Header(header, summary_of(said), "\n".join(said))
            self.explanations(self.source(header).text)
        self.walk(parsed.cursor, "")
        return self.headers

    def explanations(self, text):
        found = re.findall(r"!\s*(?:\w+::)*(\w+)<[^;{}]*?static_assert\([^;]*?((?:\"[^\"]*\"\s*)+)\);", text)
        # static_assert(Concept<T>, "..."), or of a constant that says whether T meets it.
        meant = dict(re.findall(r"constexpr bool (\w+) = (?:\w+::)*(\w+)<[^;&|]*>;", text))
        for name, strings in re.findall(r"static_assert\(\s*(?:\w+::)*(\w+)(?:<[^;&|\"]*>)?,\s*((?:\"[^\"]*\"\s*)+)\);", text):
            found.append((meant.get(name, name), strings))
        for name, strings in found:
            said = "".join(re.findall(r'"([^"]*)"', strings))
            if said.startswith("bough: ") and said[7:] not in self.explained.setdefault(name, []):
                self.explained[name].append(said[7:])

    def place(self, cursor):
        """The header of a cursor, or None."""
        file = cursor.location.file
        if not file or not file.name.startswith(self.include + "/"):
            return None
        return os.path.relpath(file.name, self.include)

    def extent(self, cursor, source):
        """First and last line of a declaration, and its text."""
        begin, end = cursor.extent.start, cursor.extent.end
        if begin.line == 0 or begin.offset > cursor.location.offset:
            # A template only by its `auto`: libclang does not know where it begins.
            first = cursor.location.line
            while source.lines[first - 2].strip() and re.search(r"[^;:{}/]\s*$", source.lines[first - 2]) and \
                    not slashes(source.lines[first - 2]) and not source.lines[first - 2].startswith("#"):
                first -= 1
            parts = [child.extent.end for child in cursor.get_children()]
            end = max((part for part in parts if part.line), key=lambda part: part.offset, default=cursor.location)
            indent = len(source.lines[first - 1]) - len(source.lines[first - 1].lstrip())
            text = source.text.encode()[source.offsets[first - 1] + indent:end.offset].decode()
            return first, end.line, dedent(text, indent)
        text = source.text.encode()[begin.offset:end.offset].decode()
        return begin.line, end.line, dedent(text, begin.column - 1)

    def kind_of(self, cursor):
        if cursor.kind in CLASSES:
            return "class"
        if cursor.kind in FUNCTIONS:
            return "function"
        if cursor.kind in ALIASES:
            return "alias"
        if cursor.kind in VARIABLES:
            return "value"
        return {Kind.CONCEPT_DECL: "concept", Kind.ENUM_DECL: "enum"}.get(cursor.kind)

    def walk(self, cursor, scope):
        for child in cursor.get_children():
            header = self.place(child)
            if header is None:
                continue
            if child.kind == Kind.NAMESPACE:
                own = child.spelling not in ("bough", "") and not child.spelling.startswith("v0_")  # not BOUGH_ABI
                self.walk(child, f"{scope}{child.spelling}::" if own else scope)
            elif child.kind == Kind.LINKAGE_SPEC:
                continue
            else:
                self.declare(child, scope, header)

    def declare(self, cursor, scope, header):
        kind = self.kind_of(cursor)
        name = cursor.spelling
        source = self.source(header)
        if kind is None or not name:
            return
        first, last, text = self.extent(cursor, source)
        if kind == "concept":
            self.concepts[scope + name] = text
        if HIDDEN.search(scope):
            return
        if kind == "class" and (not cursor.is_definition() or re.match(r"template\s*<>", text)):
            return
        if re.match(r"template\s*<>", text) or cursor.kind == Kind.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION:
            return
        if kind in ("function", "value") and cursor.semantic_parent != cursor.lexical_parent:
            return  # a member, defined below its class
        if kind == "class" and cursor.semantic_parent != cursor.lexical_parent:
            name = f"{cursor.semantic_parent.spelling}::{name}"
        guide = re.match(r"<deduction guide for (.*)>", name)
        if guide:
            name, kind = guide.group(1), "class"
        if kind == "value" and re.search(rf"\b{re.escape(name)}<", text.split("=")[0]):
            return  # a specialisation
        entries = self.headers[header].entries
        entry = next((e for e in entries if e.full == scope + name), None)
        if entry is None:
            entry = Entry(name, scope, kind, header)
            entries.append(entry)
        if any(d.line == first for d in entry.declarations):
            return
        entry.declarations.append(self.declaration(source, first, last, text, "function" if guide else kind, cursor.location.line))
        if kind == "concept":
            entry.definition = text
        elif kind == "enum":
            entry.members = self.enumerators(cursor, source)
        elif kind == "class" and not guide:
            entry.members = self.members(cursor, source, scope + name, header)

    def declaration(self, source, first, last, text, kind, named):
        said = source.above(first)
        behind = source.behind(first, last) if kind not in ("class", "enum") or first == last else source.behind(named, named)
        signature = cut(without_comments(text), kind)
        if kind == "class":
            signature = signature.replace(" final", "")
        return Declaration(signature, "\n".join(said + behind), first, last)

    def enumerators(self, cursor, source):
        found = []
        for child in cursor.get_children():
            if child.kind == Kind.ENUM_CONSTANT_DECL:
                line = child.extent.start.line
                alone = line != cursor.extent.start.line  # or else the comment is that of the whole
                said = source.above(line) + source.behind(line, line) if alone else []
                found.append(Entry(child.spelling, "", "value", "",
                                   [Declaration(f"{child.spelling} = {child.enum_value}", "\n".join(said), line)]))
        return found

    def members(self, cursor, source, owner, header):
        found = []
        lines = {}
        for child in cursor.get_children():
            kind = self.kind_of(child)
            friend = child.kind == Kind.FRIEND_DECL
            if friend:
                kind = "function"
            elif child.access_specifier != cindex.AccessSpecifier.PUBLIC or kind is None:
                continue
            if self.place(child) != header:
                continue
            line, last, text = self.extent(child, source)
            if friend and (not re.search(r"\(", text) or "operator==" in text):
                continue
            name = re.sub(r"(?<=\w)<.*", "", child.spelling) or (re.search(r"(operator\s*\S+?|\w+)\s*\(", text).group(1) if friend else "")
            if not name or child.kind == Kind.UNEXPOSED_DECL and not text:
                continue
            if kind == "class" and not child.is_definition():
                continue
            if child.kind == Kind.FIELD_DECL and line in lines:  # a, b, c;
                continue
            lines[line] = name
            if child.kind == Kind.FIELD_DECL:
                text = source.lines[line - 1].strip() if line == last else text
            if kind == "function" and re.search(r"=\s*(default|delete)\s*$", text):
                continue
            entry = next((e for e in found if e.name == name and e.kind == kind), None)
            if entry is None:
                entry = Entry(name, owner + "::", kind, header)
                found.append(entry)
            entry.declarations.append(self.declaration(source, line, last, text, kind, child.location.line))
            if kind == "class":
                entry.members = self.members(child, source, f"{owner}::{name}", header)
            elif kind == "enum":
                entry.members = self.enumerators(child, source)
        return found


def summary_of(lines):
    """The first sentence of an introduction."""
    text = " ".join(line.strip() for line in lines[:lines.index("")] if line) if "" in lines else " ".join(l.strip() for l in lines)
    match = re.match(r"(.*?[.:!?])(\s|$)", re.sub(r"^[^:]{1,40}: ", "", text))
    said = match.group(1) if match else text
    if re.match(r"[a-z]+[ ,;]", said):  # a word, and no name of C++
        said = said[:1].upper() + said[1:]
    return said.rstrip(":")
