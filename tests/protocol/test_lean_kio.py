"""kio is loaded in parts, and yet whole for whoever asks."""

import subprocess
import sys

import pytest


def said_by(code: str) -> list[str]:
    """The lines of a process of its own, in which a broker can read a JoinGroup."""
    start = "import sys\nfrom kohort.protocol.messages import message_of\nmessage_of('join_group').prepare(9)\n"
    ended = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, check=False)
    return (ended.stdout + ended.stderr).splitlines()


def test_loads_request_module_only() -> None:
    code = "print(*sorted(name for name in sys.modules if 'join_group.' in name or name == 'kio.serial._serialize'))"
    assert said_by(code) == ["kio.schema.join_group.v9 kio.schema.join_group.v9.request"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from kio.schema.join_group.v9 import JoinGroupResponse as found; print(found.__name__)", "JoinGroupResponse"),
        ("import kio.schema.join_group.v9 as v9; print(v9.JoinGroupRequest is v9.request.JoinGroupRequest)", "True"),
        (
            "import kio.serial; print(kio.serial.entity_writer.__name__, type(kio.serial).__name__)",
            "entity_writer module",
        ),
        ("import kio.serial; print(kio.serial.errors.SchemaError.__name__)", "SchemaError"),
        ("from kio.static.protocol import RequestHeader as found; print(len(found.__args__))", "2"),
        ("from typing_extensions import Buffer; print(Buffer.__mro__[0].__name__)", "Buffer"),
        ("from kio.schema.join_group.v9 import nothing", "ImportError: cannot import name 'nothing' from "),
        ("import kio.schema.join_group.v99", "ModuleNotFoundError: No module named 'kio.schema.join_group.v99'"),
    ],
)
def test_others_find_all_of_it(code: str, said: str) -> None:
    assert said_by(code)[-1].startswith(said)


def test_two_threads_may_ask_at_once() -> None:
    code = """
from threading import Barrier, Thread
begin, found = Barrier(8), []

def ask():
    begin.wait()
    import kio.serial
    found.append(kio.serial.entity_writer)

threads = [Thread(target=ask) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(len(found), len(set(found)))
"""
    assert said_by(code) == ["8 1"]


def test_message_classes_have_no_signature() -> None:
    code = """
from dataclasses import dataclass

@dataclass
class Mine:
    number: int

print(Mine.__doc__, sys.modules["kio.schema.join_group.v9.request"].JoinGroupRequest.__doc__)
"""
    # From Python 3.15 on, dataclasses compute it when it is read, and have nothing to replace.
    signature = "(*, group_id" if sys.version_info >= (3, 15) else ""
    (line,) = said_by(code)
    assert line.startswith(f"Mine(number: int) JoinGroupRequest{signature}")
