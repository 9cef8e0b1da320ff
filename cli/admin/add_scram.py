"""`kohort admin add-scram DIR USER`."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from kohort.broker.lean_imports import without
from kohort.cli.output import say
from kohort.protocol.visible import visible


@click.command("add-scram")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("users", metavar="MECHANISM=[name=...,password=...]", nargs=-1, required=True)
def add_scram(folder: Path, users: tuple[str, ...]) -> None:
    """Give users SCRAM passwords in the data directory DIR, which is made if it is not there.

    MECHANISM is SCRAM-SHA-256 or SCRAM-SHA-512, as with `kafka-storage format --add-scram`; iterations=, salt= and
    saltedpassword= may stand in the brackets, too. So a secured cluster has its first user. Later ones are added by
    `kafka-configs --alter --entity-type users`.

    The broker that writes there must be stopped. Exit code 0: done; 1: the directory cannot be used; 2: no such user.
    """
    with without("hypothesis"):
        from kohort.security.new_user import NewUserError, parse_new_user
        from kohort.storage.disk.adding_users import add_users
        from kohort.storage.disk.journal_lines import SavedScram
        from kohort.storage.disk.ownership import DataDirectoryError

    try:
        added = [parse_new_user(each, secrets.token_bytes(20)) for each in users]
    except NewUserError as problem:
        say(f"kohort: the user {problem}", err=True)
        raise SystemExit(2) from None
    try:
        add_users(folder, [(each.name, each.mechanism.value, SavedScram(*each.credential)) for each in added])
    except DataDirectoryError as problem:
        say(f"kohort: {problem}", err=True)
        raise SystemExit(1) from None
    for each in added:
        say(f"{visible(each.name)} can log in by {each.mechanism.sasl_name}")
