"""Run the Python blocks of Markdown files and compare what they print with what the file shows.

The blocks of a file run in order and share one namespace. A block ```` ```text ```` right after a
block ```` ```python ```` holds the output expected of it; a block that prints must have one.

    python docs/check_examples.py README.md docs/quickstart.md          # check
    python docs/check_examples.py --write README.md                     # fill in the real output
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^```python\n(?P<source>.*?)^```$(?P<gap>\n\s*?^```text\n)?(?(gap)(?P<output>.*?)^```$)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    """One block of Python, the line of the file at which it starts, and the output shown."""

    source: str
    line: int
    output: str | None
    output_span: tuple[int, int]


def examples(text: str) -> list[Example]:
    """The Python blocks of a Markdown text, in order."""
    return [
        Example(
            source=match["source"],
            line=text.count("\n", 0, match.start("source")) + 1,
            output=match["output"],
            output_span=match.span("output"),
        )
        for match in BLOCK.finditer(text)
    ]


def run(example: Example, path: Path, namespace: dict[str, object]) -> str:
    """Execute one block in `namespace`; return what it printed. Lines are those of the file."""
    printed = io.StringIO()
    source = "\n" * (example.line - 1) + example.source
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), namespace)
    return printed.getvalue()


def failures(path: str | Path) -> list[str]:
    """Run every block of the file; describe each that raises or prints something else.

    An empty list means that the file tells the truth.
    """
    path = Path(path)
    found: list[str] = []
    namespace: dict[str, object] = {"__name__": "__main__"}
    for example in examples(path.read_text(encoding="utf-8")):
        where = f"{path}:{example.line}"
        try:
            printed = run(example, path, namespace)
        except Exception:
            found.append(f"{where}: the block raised\n{traceback.format_exc()}")
            break
        shown = example.output or ""
        if printed.rstrip() != shown.rstrip():
            found.append(f"{where}: expected\n{shown}\nbut it printed\n{printed}")
    return found


def write(path: str | Path) -> None:
    """Replace the output shown after each block by what the block really prints."""
    path = Path(path)
    text = path.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    pieces: list[str] = []
    position = 0
    for example in examples(text):
        printed = run(example, path, namespace)
        start, stop = example.output_span
        if example.output is not None:
            pieces += [text[position:start], printed.rstrip() + "\n"]
            position = stop
        elif printed.strip():
            raise SystemExit(f"{path}:{example.line}: the block prints, but no text block follows")
    path.write_text("".join(pieces) + text[position:], encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the examples of Markdown files.")
    parser.add_argument("--write", action="store_true", help="fill in the real output instead")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    if options.write:
        for path in options.files:
            write(path)
        return 0
    found = [failure for path in options.files for failure in failures(path)]
    print("\n".join(found) or f"{len(options.files)} files: every example prints what is shown")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
