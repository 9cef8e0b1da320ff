"""`kohort admin add-scram DIR USER`."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from kohort.base.lean_imports import without
from kohort.base.visible import visible
from kohort.cli.output import say


@click.command("add-scram")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.argument("users", metavar="MECHANISM=[name=...,password=...]", nargs=-1, required=True)
def add_scram(folder: Path, users: tuple[str, ...]) -> None:
    """Add users with SCRAM passwords to the data directory DIR, which is created if it does not exist.

    MECHANISM is SCRAM-SHA-256 or SCRAM-SHA-512, as with `kafka-storage format --add-scram`; the brackets may also
    contain iterations=, salt= and saltedpassword=. This gives a secured cluster its first user. Add later ones with
    `kafka-configs --alter --entity-type users`.

    The broker that writes to DIR must be stopped. Exit code 0: done; 1: the directory cannot be used; 2: a user is
    invalid.
    """
    with without("hypothesis"):
        from kohort.security.new_user import NewUserError, parse_new_user
        from kohort.storage.disk.adding_users import add_users
        from kohort.storage.disk.journal_lines import SavedScram
        from kohort.storage.disk.ownership import DataDirectoryError

    try:
        added = [parse_new_user(text, secrets.token_bytes(20)) for text in users]
    except NewUserError as error:
        say(f"kohort: the user {error}", err=True)
        raise SystemExit(2) from None
    try:
        add_users(folder, [(user.name, user.mechanism.value, SavedScram(*user.credential)) for user in added])
    except DataDirectoryError as error:
        say(f"kohort: {error}", err=True)
        raise SystemExit(1) from None
    for user in added:
        say(f"{visible(user.name)} can log in with {user.mechanism.sasl_name}")
