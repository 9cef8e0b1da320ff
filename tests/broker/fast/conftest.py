"""These tests are about what is inside of `broker/fast/`."""

from tests.support.absent import is_absent

collect_ignore_glob = ["*"] if is_absent("kohort.broker.fast") else []
