"""Who has imported a module that is loaded late finds in it what it has."""

import subprocess
import sys

import pytest

FROM_HERE = "from kohort.base.lean_imports import load_event_loop\nload_event_loop()\nimport asyncio, sys, uvloop\n"


def said_by(code: str, before: str = "") -> list[str]:
    """Return the output lines of a new process."""
    code = f"{before}\n{FROM_HERE}{code}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return (ended.stdout + ended.stderr).splitlines()


def test_import_happens_at_first_call() -> None:
    code = """
print("inspect" in sys.modules, asyncio.coroutines.inspect.isgenerator(i for i in ()), "inspect" in sys.modules)
"""
    # From Python 3.14 on, asyncio.graph defines dataclasses, which call functions of inspect.
    assert said_by(code) == ["True True True" if sys.version_info >= (3, 14) else "False True True"]


def test_concurrent_import_is_safe() -> None:
    code = """
from kohort.base.late_modules import LateModule, import_lazily
del sys.modules["inspect"]
with import_lazily("inspect"):
    import inspect as early
    print(type(early) is LateModule, early.isgenerator(0), type(sys.modules["inspect"]) is LateModule)
print(sys.modules["inspect"].isgenerator(0))
"""
    assert said_by(f"import inspect\n{code}") == ["True False False", "False"]


def test_attribute_access_imports_module() -> None:
    before = "import kohort.base.late_modules as late_modules\ndel late_modules.LateModule.__getattr__"
    assert said_by("print(asyncio.coroutines.inspect.isgenerator.__name__, uvloop.Loop.__name__)", before) == [
        "isgenerator Loop"
    ]


def test_later_import_gets_module() -> None:
    assert said_by("import inspect, traceback\nprint(inspect.Parameter.empty, traceback.StackSummary.__name__)") == [
        "<class 'inspect._empty'> StackSummary"
    ]


def test_uncaught_exception_shows_lines() -> None:
    code = """
import logging
try:
    1 / 0
except ZeroDivisionError:
    logging.exception("it failed")
"""
    lines = said_by(code)
    assert lines[0] == "ERROR:root:it failed"
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("loop", ["asyncio.new_event_loop", "uvloop.new_event_loop"])
def test_debug_mode_reports_callback_source(loop: str) -> None:
    code = f"""
async def main():
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)

with asyncio.Runner(debug=True, loop_factory={loop}) as runner:
    runner.run(main())
"""
    lines = said_by(code)
    assert "Object created at (most recent call last):" in [line.removeprefix("source_traceback: ") for line in lines]
    assert lines[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("handler", "outcome"), [("stopped.set", "heard"), ("main", "coroutines cannot be used with add_signal_handler()")]
)
def test_signal_handler_is_a_function(handler: str, outcome: str) -> None:
    code = f"""
import os, signal

async def main():
    stopped = asyncio.Event()
    try:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, {handler})
    except TypeError as problem:
        print(problem)
        return
    os.kill(os.getpid(), signal.SIGUSR1)
    await stopped.wait()
    print("heard")

uvloop.run(main())
"""
    assert said_by(code) == [outcome]
