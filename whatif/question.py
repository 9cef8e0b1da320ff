"""A group's history as a script, and the settings under which to play it: all that a prediction needs of a history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.whatif.deploy_order import reorder
from kohort.whatif.extract import compress, extract
from kohort.whatif.group_history import observed_figures
from kohort.whatif.played_settings import DEPLOY_ORDER, Settings, change
from kohort.whatif.predict import SEEDS
from kohort.whatif.script import Script
from kohort.whatif.suggest import suggestions

AS_IT_WAS = "as it was"
SHORT_MS = 600_000  # a longer script is played with fewer seeds
FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Variant:
    """Settings to play, by the changes that lead to them."""

    name: str
    settings: Settings
    changes: Mapping[str, str]
    script: Script  # what happens to the members, without quiet time
    effort: int = 0  # of a suggested change

    @property
    def seeds(self) -> int:
        return SEEDS if self.script.end_ms <= SHORT_MS else FEWEST_SEEDS


@dataclass(frozen=True)
class Question:
    """What to predict for one group. It is small enough to be sent to another process."""

    group: str
    cluster: str
    observed: Mapping[str, float]  # figures of the history
    variants: Sequence[Variant]  # the first one has the group's own settings
    additions: Sequence[str]  # what would make the script more exact
    is_suggesting: bool  # of the variants, only the best ones are of interest

    @property
    def own(self) -> Variant:
        return self.variants[0]

    @property
    def records(self) -> int:
        """Number of arrivals in the script, which determine its size."""
        return sum(map(len, self.own.script.arrivals.values()))


def read_question(
    analysis: GroupAnalysis,
    variants: Iterable[Mapping[str, str]] | None,
    own_settings: Mapping[str, str] | None = None,
) -> Question:
    """Return what to predict for a group.

    Args:
        variants: Changes of settings, such as {"session.timeout.ms": "10000"}. None for suggested changes.
        own_settings: The group's own settings, as far as the logs do not contain them.

    Raises:
        UnplayableError: The history does not contain what is needed.
        SettingError: A setting is invalid.
    """
    script, settings = extract(analysis)
    settings = change(settings, own_settings or {})
    own = Variant(AS_IT_WAS, settings, {}, compress(script, settings))
    tried = suggestions(script, settings) if variants is None else [(changes, 0) for changes in variants]
    return Question(
        analysis.group_id,
        analysis.group.cluster,
        observed_figures(analysis, script, settings),
        [own, *(_variant(script, own, changes, effort) for changes, effort in tried)],
        _additions(analysis, own_settings or {}),
        variants is None,
    )


def _variant(script: Script, own: Variant, changes: Mapping[str, str], effort: int) -> Variant:
    of_settings = {name: value for name, value in changes.items() if name != DEPLOY_ORDER}
    return replace(
        own,
        name=", ".join(f"{name}={value}" for name, value in changes.items()),
        settings=change(own.settings, of_settings),
        changes=changes,
        script=compress(reorder(script, changes[DEPLOY_ORDER]), own.settings)
        if DEPLOY_ORDER in changes
        else own.script,
        effort=effort,
    )


def _additions(analysis: GroupAnalysis, own_settings: Mapping[str, str]) -> list[str]:
    """Return what to add to the sources if a play does not reproduce the history."""
    additions = []
    if not analysis.group.events:
        additions.append("the broker's log, which has the times of joins and leaves")
    if not analysis.group.ends:
        additions.append("samples of log ends, which show when records were appended")
    if not any("heartbeat.interval.ms" in name for name in own_settings):
        additions.append("--given heartbeat.interval.ms=…, if it is not the default")
    return additions
