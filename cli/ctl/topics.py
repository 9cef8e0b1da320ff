"""`kohort ctl topics`."""

from typing import Any
from urllib.parse import quote, urlencode

import click

from kohort.cli.admin.control_client import ask, control_options
from kohort.cli.moments import moment_ms
from kohort.cli.output import say


@click.group(invoke_without_command=True)
@click.pass_context
def topics(context: click.Context) -> None:
    """Create topics, add partitions and records, without a Kafka client."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@topics.command("list")
@click.option("--internal", is_flag=True, help="Include internal topics.")
@control_options
def list_(internal: bool, control: str, token: str) -> None:
    """List topics, with their numbers of partitions and records."""
    for topic in ask(control, token, "/topics"):
        if internal or not topic["internal"]:
            _show(topic)


@topics.command()
@click.argument("name")
@control_options
def describe(name: str, control: str, token: str) -> None:
    """Show topic NAME: its settings, and leader, replicas, offsets and size of each partition."""
    topic = ask(control, token, f"/topics/{quote(name, safe='')}")
    _show(topic)
    for setting, value in topic["configs"].items():
        say(f"  {setting}={value}")
    for partition in topic["partitions"]:
        leader = "none" if partition["leader"] is None else partition["leader"]
        say(
            f"  {name}-{partition['partition']}: leader {leader}, replicas {_format_ids(partition['replicas'])}, "
            f"in sync {_format_ids(partition['in_sync'])}, offsets {partition['start_offset']} to "
            f"{partition['end_offset']}, {partition['size_bytes']} bytes"
        )


@topics.command()
@click.argument("name")
@click.option("--partitions", type=click.IntRange(1), default=1, show_default=True)
@click.option("--config", "configs", metavar="NAME=VALUE", multiple=True, help="A setting of the topic; repeatable.")
@control_options
def create(name: str, partitions: int, configs: tuple[str, ...], control: str, token: str) -> None:
    """Create topic NAME, with its leaders spread over the nodes."""
    settings = dict(_pair(text) for text in configs)
    _show(ask(control, token, "/topics", {"name": name, "partitions": partitions, "configs": settings}, post=True))


@topics.command()
@click.argument("name")
@click.argument("partitions", type=click.IntRange(1))
@control_options
def create_partitions(name: str, partitions: int, control: str, token: str) -> None:
    """Extend topic NAME to PARTITIONS partitions."""
    _show(ask(control, token, f"/topics/{quote(name, safe='')}/partitions", {"partitions": partitions}, post=True))


@topics.command()
@click.argument("name")
@click.argument("values", nargs=-1, required=True)
@click.option("--partition", type=click.IntRange(0), default=0, show_default=True)
@click.option("--key", help="Key of all records.")
@control_options
def append(name: str, values: tuple[str, ...], partition: int, key: str | None, control: str, token: str) -> None:
    """Append VALUES to topic NAME as one batch."""
    records = {"values": values, "partition": partition, "key": key}
    offset = ask(control, token, f"/topics/{quote(name, safe='')}/records", records, post=True)["offset"]
    say(f"{name}-{partition}: offset {offset}" + (f" to {offset + len(values) - 1}" if len(values) > 1 else ""))


@topics.command()
@click.argument("name")
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@click.option("--offset", type=click.IntRange(0), help="Begin at this offset of each partition.")
@click.option(
    "--since",
    metavar="MOMENT",
    help="Begin at the first record of each partition at or after this time: 2026-05-31T14:00, 14:00 of today, or "
    "milliseconds since 1970.",
)
@click.option("--key", help="Only records with this key.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1_000, show_default=True)
@control_options
def records(
    name: str,
    partition: int | None,
    offset: int | None,
    since: str | None,
    key: str | None,
    limit: int,
    control: str,
    token: str,
) -> None:
    """Print the records of topic NAME, one per line: partition, offset, key, value."""
    since_ms = None if since is None else moment_ms(since, "--since")
    options = {"limit": limit, "partition": partition, "offset": offset, "since_ms": since_ms, "key": key}
    query = urlencode({option: value for option, value in options.items() if value is not None})
    for record in ask(control, token, f"/topics/{quote(name, safe='')}/records?{query}"):
        record_key, value = _format_data(record["key"]), _format_data(record["value"])
        say(f"{name}-{record['partition']} {record['offset']}: {f'{record_key} = ' if record['key'] else ''}{value}")


@topics.command()
@click.argument("name")
@click.argument("before", type=click.IntRange(0))
@click.option("--partition", type=click.IntRange(0), default=0, show_default=True)
@control_options
def delete_records(name: str, before: int, partition: int, control: str, token: str) -> None:
    """Delete the records before offset BEFORE from a partition of topic NAME."""
    _show(
        ask(
            control,
            token,
            f"/topics/{quote(name, safe='')}/delete-records",
            {"before": before, "partition": partition},
            post=True,
        )
    )


@topics.command()
@click.argument("name")
@control_options
def delete(name: str, control: str, token: str) -> None:
    """Delete topic NAME with its records."""
    ask(control, token, f"/topics/{quote(name, safe='')}", method="DELETE")


def _format_data(data: dict[str, str | None] | None) -> str:
    if data is None:
        return "null"
    return data["text"] if data["text"] is not None else f"base64:{data['base64']}"


def _format_ids(ids: list[int]) -> str:
    return ", ".join(map(str, ids)) or "none"


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text}: expected NAME=VALUE", param_hint="--config")
    return name, value


def _show(topic: dict[str, Any]) -> None:
    partitions = topic["partitions"]
    records = sum(partition["end_offset"] - partition["start_offset"] for partition in partitions)
    count = len(partitions)
    say(f"{topic['name']}: {count} partition{'s'[count == 1 :]}, {records} record{'s'[records == 1 :]}")
