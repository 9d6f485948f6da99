# SPDX-License-Identifier: MIT OR Apache-2.0
"""finish.py BOOK: links of the built book.

A link to a file of the repository outside docs/ becomes a link to a copy in BOOK/files, as text, so that the book is
complete by itself. A link to a README becomes one to the index.html that mdBook makes of it. Then every link within
the book must lead to a file, and to a place in it that exists.
"""

import re
import shutil
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = REPOSITORY / "docs"
LINK = re.compile(r'(<a [^>]*?href=")([^"#:]+)(?:#[^"]*)?"')


class Page(HTMLParser):
    """The links of a page and the places that links can lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)


def repair_links(book, page):
    """Copies what the page refers to outside docs/, and makes its links lead there."""

    def replaced(match):
        link = unquote(unescape(match[2]))
        if link.endswith("README.html") and not (page.parent / link).exists():
            return match[0].replace("README.html", "index.html")
        # A page has the same place below the book as its source has below docs/
        source = (PAGES / page.relative_to(book).parent / link).resolve()
        if source.is_relative_to(PAGES) or not source.is_relative_to(REPOSITORY):
            return match[0]
        if not source.is_file() and source.suffix == ".html":
            source = source.with_suffix(".md")  # mdBook has renamed it
        if not source.is_file():
            sys.exit(f"{page}: no such file: {link}")
        copy = book / "files" / f"{source.relative_to(REPOSITORY)}.txt"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        up = "../" * len(page.relative_to(book).parent.parts)
        return f'{match[1]}{up}{copy.relative_to(book)}"'

    text = page.read_text()
    page.write_text(LINK.sub(replaced, text))


def broken_links(pages):
    """Links of these pages that lead nowhere."""
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            target, _, place = link.partition("#")
            file = (path.parent / unquote(target)).resolve() if target else path
            if file.is_dir():
                file /= "index.html"
            if not file.is_file():
                yield f"{path}: no such file: {link}"
            elif place and file in pages and unquote(place) not in pages[file].places:
                yield f"{path}: no such place: {link}"


def main():
    book = Path(sys.argv[1]).resolve()
    # 404.html is for web servers: its links start at the root of one.
    paths = [path for path in sorted(book.rglob("*.html")) if path.name not in ("404.html", "toc.html")]
    for path in paths:
        repair_links(book, path)
    broken = sorted(set(broken_links({path: Page(path.read_text()) for path in paths})))
    sys.exit("\n".join(broken) or None)


main()
