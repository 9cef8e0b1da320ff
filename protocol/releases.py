"""Releases of Kafka that kohort can imitate: their API versions, defaults and rules.

The versions were recorded from real brokers (ApiVersions v0 of 1.1.1, 2.4.1, 2.8.2 with ZooKeeper, and of 3.4.1 and
3.9.0); a test has the frames. Versions that Kafka 4.0 has removed (KIP-896) are not supported, whatever the release.
"""

from functools import cache
from typing import NamedTuple

from kohort.protocol.api_keys import API_BY_NAME, APIS, ApiSpec

CURRENT = "4.4"  # the newest release, and the default
RELEASES = ("1.1", "2.4", "2.8", "3.4", "3.9", "4.3", CURRENT)

_VERSIONS = """
                                             1.1   2.4   2.8   3.4   3.9   4.3
produce                                      0-5   0-8   0-9   0-9  0-11  0-13
fetch                                        0-7  0-11  0-12  0-13  0-17  4-18
list_offsets                                 0-2   0-5   0-6   0-7   0-9  1-11
metadata                                     0-5   0-9  0-11  0-12  0-12  0-13
offset_commit                                0-3   0-8   0-8   0-8   0-9  2-10
offset_fetch                                 0-3   0-6   0-7   0-8   0-9  1-10
find_coordinator                             0-1   0-3   0-3   0-4   0-6   0-6
join_group                                   0-2   0-6   0-7   0-9   0-9   0-9
heartbeat                                    0-1   0-4   0-4   0-4   0-4   0-4
leave_group                                  0-1   0-4   0-4   0-5   0-5   0-5
sync_group                                   0-1   0-4   0-5   0-5   0-5   0-5
describe_groups                              0-1   0-5   0-5   0-5   0-5   0-6
list_groups                                  0-1   0-3   0-4   0-4   0-5   0-5
sasl_handshake                               0-1   0-1   0-1   0-1   0-1   0-1
api_versions                                 0-1   0-3   0-3   0-3   0-4   0-4
create_topics                                0-2   0-5   0-7   0-7   0-7   2-7
delete_topics                                0-1   0-4   0-6   0-6   0-6   1-6
delete_records                                 0   0-1   0-2   0-2   0-2   0-2
init_producer_id                               0   0-2   0-4   0-4   0-5   0-5
offset_for_leader_epoch                        0   0-3   0-4   0-4   0-4   2-4
add_partitions_to_txn                          0   0-1   0-3   0-3   0-5   0-5
add_offsets_to_txn                             0   0-1   0-3   0-3   0-4   0-4
end_txn                                        0   0-1   0-3   0-3   0-4   0-5
write_txn_markers                              0     0   0-1   0-1   0-1   1-2
txn_offset_commit                              0   0-2   0-3   0-3   0-4   0-5
describe_acls                                  0   0-1   0-2   0-3   0-3   1-3
create_acls                                    0   0-1   0-2   0-3   0-3   1-3
delete_acls                                    0   0-1   0-2   0-3   0-3   1-3
describe_configs                             0-1   0-2   0-4   0-4   0-4   1-4
alter_configs                                  0   0-1   0-2   0-2   0-2   0-2
alter_replica_log_dirs                         0   0-1   0-2   0-2   0-2   1-2
describe_log_dirs                              0   0-1   0-2   0-4   0-4   1-5
sasl_authenticate                              0   0-1   0-2   0-2   0-2   0-2
create_partitions                              0   0-1   0-3   0-3   0-3   0-3
create_delegation_token                        0   0-2   0-2   0-3   0-3   1-3
renew_delegation_token                         0   0-1   0-2   0-2   0-2   1-2
expire_delegation_token                        0   0-1   0-2   0-2   0-2   1-2
describe_delegation_token                      0   0-1   0-2   0-3   0-3   1-3
delete_groups                                  0   0-2   0-2   0-2   0-2   0-2
elect_leaders                                  -   0-2   0-2   0-2   0-2   0-2
incremental_alter_configs                      -   0-1   0-1   0-1   0-1   0-1
alter_partition_reassignments                  -     0     0     0     0   0-1
list_partition_reassignments                   -     0     0     0     0     0
offset_delete                                  -     0     0     0     0     0
describe_user_scram_credentials                -     -     0     0     0     0
alter_user_scram_credentials                   -     -     0     0     0     0
describe_client_quotas                         -     -   0-1   0-1   0-1   0-1
alter_client_quotas                            -     -   0-1   0-1   0-1   0-1
describe_quorum                                -     -     -     -     -   0-2
update_features                                -     -     0   0-1   0-1   0-2
describe_cluster                               -     -     0     0   0-1   0-2
describe_producers                             -     -     0     0     0     0
describe_transactions                          -     -     -     0     0     0
list_transactions                              -     -     -     0   0-1   0-2
consumer_group_heartbeat                       -     -     -     -     0   0-1
consumer_group_describe                        -     -     -     -     0   0-1
list_config_resources                          -     -     -     -     -   0-1
describe_topic_partitions                      -     -     -     -     -     0
share_group_heartbeat                          -     -     -     -     -     1
share_group_describe                           -     -     -     -     -     1
share_fetch                                    -     -     -     -     -   1-2
share_acknowledge                              -     -     -     -     -   1-2
initialize_share_group_state                   -     -     -     -     -     0
read_share_group_state                         -     -     -     -     -     0
write_share_group_state                        -     -     -     -     -   0-1
delete_share_group_state                       -     -     -     -     -     0
read_share_group_state_summary                 -     -     -     -     -   0-1
streams_group_heartbeat                        -     -     -     -     -     0
streams_group_describe                         -     -     -     -     -     0
describe_share_group_offsets                   -     -     -     -     -   0-1
alter_share_group_offsets                      -     -     -     -     -     0
delete_share_group_offsets                     -     -     -     -     -     0
"""  # One line per API, one column per release: lowest and highest version, or `-` if it is not supported.


_CLASSIC = {"group.coordinator.rebalance.protocols": "classic"}
DEFAULTS: dict[str, dict[str, str]] = {
    "1.1": {
        "group.max.session.timeout.ms": "300000",  # observed on 1.1.1; 2.4.1 allows 1800000
        "offsets.retention.minutes": "1440",  # observed on 1.1.1; a week from 2.0 on (KIP-186)
        **_CLASSIC,
    },
    "2.4": _CLASSIC,
    "2.8": _CLASSIC,
    "3.4": _CLASSIC,
    "3.9": _CLASSIC,  # consumer groups must be enabled (KIP-848)
}  # settings with another default

# Heartbeats between JoinGroup and SyncGroup are answered with REBALANCE_IN_PROGRESS: observed on 1.1.1 and 2.4.1; 2.8.2
# answers NONE.
HEARTBEATS_NEED_SYNC = ("1.1", "2.4")


class Rules(NamedTuple):
    """Rules that 4.4 has changed. Releases before it have the defaults. Source: newer-release."""

    tolerates_unreadable_subscriptions: bool = False  # newer-release §3 rule 1
    reports_malformed_protocol: bool = False  # newer-release §3 rule 2: of upgrades and of classic members that join
    applies_migration_policy_to_joins: bool = False  # newer-release §3 rule 3
    raises_target_epoch_of_empty_groups: bool = False  # newer-release §3 rule 4
    bumps_epoch_for_assignors: bool = False  # newer-release §3 rule 5
    admits_static_members_to_full_groups: bool = False  # newer-release §3 rule 6
    reads_new_partitions_from_start: bool = False  # newer-release §4 rule 1
    fails_share_partitions_alone: bool = False  # newer-release §4 rule 2
    keeps_share_progress: bool = False  # newer-release §4 rule 3
    reports_task_offset_interval: bool = False  # newer-release §5 rule 1
    stores_task_offsets: bool = False  # newer-release §5 rule 2
    has_static_streams_members: bool = False  # newer-release §5 rule 3
    readmits_streams_members: bool = False  # newer-release §5 rule 3
    assigns_from_current_tasks: bool = False  # newer-release §5 rule 4
    raises_endpoint_epoch_at_once: bool = False  # newer-release §5 rule 5
    lists_existing_partitions: bool = False  # newer-release §5 rule 5
    asks_for_client_tags: bool = False  # newer-release §5 rule 7
    changes_task_roles_at_once: bool = False  # newer-release §5 rule 8
    creates_internal_topics_later: bool = False  # newer-release §5 rule 10
    names_ranges_of_settings: bool = False  # newer-release §6 rule 5
    omits_message_for_brokers: bool = False  # newer-release §6 rule 3
    requires_verified_tokens: bool = False  # newer-release §6 rule 4


CURRENT_RULES = Rules(*[True] * len(Rules._fields))
_OLDER_RULES = Rules()


def rules_of(release: str) -> Rules:
    return CURRENT_RULES if release == CURRENT else _OLDER_RULES


USUAL_OFFSET_VALUE = 4
# Record version of offsets in `__consumer_offsets`, up to 4.0. Tools of that time cannot decode newer versions
# (offsets-topic §4).
OFFSET_VALUES = {"1.1": 1, "2.4": 3, "2.8": 3, "3.4": 3, "3.9": 3}


@cache
def apis_of(release: str) -> tuple[ApiSpec, ...]:
    """Return the APIs of a release, each in the versions that kohort also supports.

    Raises:
        ValueError: The release is not one of RELEASES.
    """
    if release == CURRENT:
        return APIS
    head, *lines = _VERSIONS.strip().splitlines()
    column = head.split().index(release) + 1
    apis = []
    for line in lines:
        columns = line.split()
        spec, served = API_BY_NAME[columns[0]], columns[column]
        if served != "-":
            lowest, _, highest = served.partition("-")
            low, high = max(spec.min_version, int(lowest)), min(spec.max_version, int(highest or lowest))
            if max(low, spec.readable_from) <= high:
                apis.append(spec._replace(min_version=low, max_version=high))
    return tuple(sorted(apis))


def api_versions_of(release: str) -> ApiSpec:
    """Return ApiVersions as in that release."""
    return next(spec for spec in apis_of(release) if spec.name == "api_versions")
