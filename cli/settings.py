"""`kohort settings`: what can be set."""

import click

from kohort.broker.settings.broker_settings import PROFILES, Settings
from kohort.cli.output import say


@click.command()
@click.option("--profile", type=click.Choice(sorted(PROFILES)), default="faithful", help="Show this profile's values.")
def settings(profile: str) -> None:
    """List the settings that mean something here: value, what is allowed, what it is about."""
    for setting, value in Settings(profile=profile):
        say(f"{setting.name}={setting.show(value)}")
        say(f"    {setting.documentation}; {setting.values.allowed}")
    say()
    say("Kafka's other broker settings are accepted, and have no meaning here.")
