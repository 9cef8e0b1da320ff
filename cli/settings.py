"""`kohort settings`: lists the supported settings."""

import click

from kohort.broker.settings.broker_settings import PROFILES, Settings
from kohort.cli.output import say


@click.command()
@click.option(
    "--profile", type=click.Choice(sorted(PROFILES)), default="faithful", help="Print the values of this profile."
)
def settings(profile: str) -> None:
    """List the settings that have an effect: value, meaning, allowed values."""
    for setting, value in Settings(profile=profile):
        say(f"{setting.name}={setting.show(value)}")
        say(f"    {setting.documentation}; {setting.values.allowed}")
    say()
    say("Kafka's other broker settings are accepted and have no effect.")
