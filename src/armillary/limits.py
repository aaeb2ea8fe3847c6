"""What one partition holds and serves, and what follows from it: all of it times one factor.

A laptop sees real splits and real throttling with `--scale 0.001`: then a partition holds 50 MB where the service's
holds 50 GB, and everything here shrinks alike. What clients ask for (offers, their least and their steps) does not.
"""

from dataclasses import dataclass
from typing import Final

from armillary.config import Settings

RULES_2017: Final = "2017"

# Of a partition's throughput and storage, as the service has them: 6,000 of 10,000 RU/s, 20 and 10 of 50 GB.
_AT_CREATION: Final = 0.6
_OF_A_KEY: Final = 0.4
_FIXED: Final = 0.2
_PER_MINUTE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """Request units are per second, sizes in bytes."""

    partition_throughput: float
    partition_storage: int
    scale: float = 1.0
    rules: str = "today"

    @property
    def throughput_at_creation(self) -> float:
        """Manual throughput that gets one partition when a container is made, so that it can grow at once."""
        return _AT_CREATION * self.partition_throughput

    @property
    def throughput_per_minute(self) -> float:
        """The most that a partition may have to get an allowance per minute as well."""
        return _PER_MINUTE * self.partition_throughput

    @property
    def key_storage(self) -> int:
        """The most that one key value may hold."""
        return int(_OF_A_KEY * self.partition_storage)

    @property
    def fixed_storage(self) -> int:
        """The most that a fixed container may hold, which is one partition for ever."""
        return int(_FIXED * self.partition_storage)

    @property
    def note(self) -> str:
        """What every page and message adds when limits are not the service's."""
        return "" if self.scale == 1.0 else f" (all limits are scaled by {self.scale:g})"


def limits_of(settings: Settings) -> Limits:
    scale = settings.scale
    storage = max(1, round(settings.partition_storage * scale))
    return Limits(settings.partition_throughput * scale, storage, scale, settings.rules)


USUAL: Final = limits_of(Settings())
