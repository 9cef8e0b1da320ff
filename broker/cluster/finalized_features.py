"""The levels that a cluster's features have now (KIP-584): UpdateFeatures moves some of them while brokers run."""

from collections.abc import Callable, Mapping

from kohort.protocol.features import FEATURES, LEVELS, SHARE_VERSION, STREAMS_VERSION


class FinalizedFeatures:
    """Levels by name. They are one tuple, which is another one after a change: answers are kept by it."""

    def __init__(self, note: Callable[[str, int, int], None] | None = None) -> None:
        """`note` gets name, level and epoch of a change before it counts; it may raise OSError."""
        self._note = note
        self.levels = LEVELS
        self.epoch = 0
        """How often a level has changed: clients take no answer for newer than one with a larger epoch."""
        self.serves_share_groups = True
        """Whether the APIs of share groups do what they are asked."""
        self.serves_streams_groups = True
        """Likewise, of streams groups; it takes a setting of the broker, too."""

    def level(self, name: str) -> int:
        """The level of a feature that there is."""
        return dict(self.levels)[name]

    def move(self, name: str, level: int) -> None:
        """A feature has another level. Raises OSError if that cannot be stored; then it has not."""
        if self._note is not None:
            self._note(name, level, self.epoch + 1)
        self.restore({name: level}, self.epoch + 1)

    def restore(self, levels: Mapping[str, int], epoch: int) -> None:
        """Takes over what was noted. Names and levels that this release does not know do not count."""
        known = {
            name: level
            for name, level in levels.items()
            if name in FEATURES and FEATURES[name].may_move and level <= FEATURES[name].highest
        }
        self.levels = tuple((dict(self.levels) | known).items())
        self.epoch = epoch
        self.serves_share_groups = self.level(SHARE_VERSION.name) > 0
        self.serves_streams_groups = self.level(STREAMS_VERSION.name) > 0
