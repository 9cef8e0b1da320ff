"""The finalized levels of a cluster's features (KIP-584), which UpdateFeatures changes at runtime."""

from collections.abc import Callable, Mapping
from typing import Final

from kohort.protocol.features import SHARE_VERSION, STREAMS_VERSION, implemented_features_of, levels_of

DEAD_LETTERS_LEVEL: Final = 2  # of share.version (KIP-1191)


class FinalizedFeatures:
    """Levels by name, as a tuple that is replaced by a change: it is a key of cached responses."""

    def __init__(self, release: str, note: Callable[[str, int, int], None] | None = None) -> None:
        """Set the default levels of a release.

        Args:
            note: Stores name, level and epoch of a change before it takes effect; may raise OSError.
        """
        self._note = note
        self.levels = levels_of(release)
        self._features = implemented_features_of(release)
        self.restore({}, 0)

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
        self.epoch = epoch  # number of changes; clients ignore responses with a smaller epoch
        self.serves_share_groups = self.level(SHARE_VERSION.name) > 0  # whether their APIs are enabled
        self.serves_dead_letters = self.level(SHARE_VERSION.name) >= DEAD_LETTERS_LEVEL
        # whether the APIs of streams groups are enabled, which requires a broker setting, too
        self.serves_streams_groups = self.level(STREAMS_VERSION.name) > 0
