"""The finalized levels of a cluster's features (KIP-584), which UpdateFeatures changes at runtime."""

from collections.abc import Callable, Mapping

from kohort.protocol.features import SHARE_VERSION, STREAMS_VERSION, features_of, levels_of


class FinalizedFeatures:
    """Levels by name, as a tuple that is replaced by a change: it is a key of cached responses."""

    def __init__(self, release: str, note: Callable[[str, int, int], None] | None = None) -> None:
        """Set the default levels of a release.

        Args:
            note: Stores name, level and epoch of a change before it takes effect; may raise OSError.
        """
        self._note = note
        self.levels = levels_of(release)
        self._features = features_of(release) or features_of("4.3")
        self.epoch = 0  # number of changes; clients ignore responses with a smaller epoch
        self.serves_share_groups = True  # whether the APIs of share groups are enabled
        # whether the APIs of streams groups are enabled, which requires a broker setting, too
        self.serves_streams_groups = True

    def level(self, name: str) -> int:
        return dict(self.levels)[name]

    def move(self, name: str, level: int) -> None:
        """Set the level of a feature.

        Raises:
            OSError: If it cannot be stored; it is unchanged then.
        """
        if self._note is not None:
            self._note(name, level, self.epoch + 1)
        self.restore({name: level}, self.epoch + 1)

    def restore(self, levels: Mapping[str, int], epoch: int) -> None:
        """Restore stored levels. Names and levels unknown to this release are ignored."""
        supported = {
            name: level
            for name, level in levels.items()
            if name in self._features and self._features[name].may_move and level <= self._features[name].highest
        }
        self.levels = tuple((dict(self.levels) | supported).items())
        self.epoch = epoch
        self.serves_share_groups = self.level(SHARE_VERSION.name) > 0
        self.serves_streams_groups = self.level(STREAMS_VERSION.name) > 0
