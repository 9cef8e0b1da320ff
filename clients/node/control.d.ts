// Made by `python -m tests.control.typed_clients` from /openapi.json; a test compares it with that.

export type AclPermission = 'allow' | 'deny'

export type ApiName = '*' | 'AddOffsetsToTxn' | 'AddPartitionsToTxn' | 'AlterClientQuotas' | 'AlterConfigs' | 'AlterPartitionReassignments' | 'AlterReplicaLogDirs' | 'AlterShareGroupOffsets' | 'AlterUserScramCredentials' | 'ApiVersions' | 'ConsumerGroupDescribe' | 'ConsumerGroupHeartbeat' | 'CreateAcls' | 'CreateDelegationToken' | 'CreatePartitions' | 'CreateTopics' | 'DeleteAcls' | 'DeleteGroups' | 'DeleteRecords' | 'DeleteShareGroupOffsets' | 'DeleteShareGroupState' | 'DeleteTopics' | 'DescribeAcls' | 'DescribeClientQuotas' | 'DescribeCluster' | 'DescribeConfigs' | 'DescribeDelegationToken' | 'DescribeGroups' | 'DescribeLogDirs' | 'DescribeProducers' | 'DescribeQuorum' | 'DescribeShareGroupOffsets' | 'DescribeTopicPartitions' | 'DescribeTransactions' | 'DescribeUserScramCredentials' | 'ElectLeaders' | 'EndTxn' | 'ExpireDelegationToken' | 'Fetch' | 'FindCoordinator' | 'Heartbeat' | 'IncrementalAlterConfigs' | 'InitProducerId' | 'InitializeShareGroupState' | 'JoinGroup' | 'LeaveGroup' | 'ListConfigResources' | 'ListGroups' | 'ListOffsets' | 'ListPartitionReassignments' | 'ListTransactions' | 'Metadata' | 'OffsetCommit' | 'OffsetDelete' | 'OffsetFetch' | 'OffsetForLeaderEpoch' | 'Produce' | 'ReadShareGroupState' | 'ReadShareGroupStateSummary' | 'RenewDelegationToken' | 'SaslAuthenticate' | 'SaslHandshake' | 'ShareAcknowledge' | 'ShareFetch' | 'ShareGroupDescribe' | 'ShareGroupHeartbeat' | 'SyncGroup' | 'TxnOffsetCommit' | 'UpdateFeatures' | 'WriteShareGroupState' | 'WriteTxnMarkers'

export type Cause = 'all_joined' | 'assignment_store_failed' | 'assignment_stored' | 'barrier_timeout' | 'cooperative_followup' | 'coordinator_failover' | 'epoch_timeout' | 'group_deleted' | 'group_store_failed' | 'join_new' | 'join_static' | 'leave_admin' | 'leave_explicit' | 'leave_poll_timeout' | 'metadata_changed' | 'new_member_join_timeout' | 'nobody_left' | 'over_capacity' | 'protocol_migration' | 'regex_changed' | 'rejoin_leader' | 'session_expired' | 'static_protocol_changed' | 'sync_timeout' | 'topic_metadata_changed'

export type EventKind = 'access_denied' | 'assignment_received' | 'assignment_stored' | 'authentication_expired' | 'authentication_failed' | 'commit_rejected' | 'commit_stats' | 'coordinator_elected' | 'coordinator_resigned' | 'epoch_bumped' | 'group_converted' | 'group_created' | 'group_deleted' | 'group_loaded' | 'group_reconciled' | 'group_unloaded' | 'heartbeat_gap' | 'heartbeat_stats' | 'join_completed' | 'join_progress' | 'member_added' | 'member_assigned' | 'member_fenced' | 'member_id_issued' | 'member_metadata_changed' | 'member_reconciled' | 'member_rejoined' | 'member_removed' | 'member_replaced' | 'member_revoked' | 'member_revoking' | 'member_stepped_out' | 'member_synced' | 'offsets_expired' | 'rebalance_completed' | 'rebalance_started' | 'rebalance_superseded' | 'sync_timeout' | 'target_computed'

export type Gate = 'commit-answer' | 'commit-received' | 'consumer-heartbeat-answer' | 'consumer-heartbeat-received' | 'heartbeat-answer' | 'heartbeat-received' | 'join-complete' | 'join-received' | 'leave-received' | 'offset-fetch-received' | 'offsets-loaded' | 'sync-answer' | 'sync-received'

export type GroupType = '' | 'classic' | 'consumer'

export type KafkaError = 'BROKER_ID_NOT_REGISTERED' | 'BROKER_NOT_AVAILABLE' | 'CLUSTER_AUTHORIZATION_FAILED' | 'CONCURRENT_TRANSACTIONS' | 'COORDINATOR_LOAD_IN_PROGRESS' | 'COORDINATOR_NOT_AVAILABLE' | 'CORRUPT_MESSAGE' | 'DELEGATION_TOKEN_AUTHORIZATION_FAILED' | 'DELEGATION_TOKEN_AUTH_DISABLED' | 'DELEGATION_TOKEN_EXPIRED' | 'DELEGATION_TOKEN_NOT_FOUND' | 'DELEGATION_TOKEN_OWNER_MISMATCH' | 'DELEGATION_TOKEN_REQUEST_NOT_ALLOWED' | 'DUPLICATE_BROKER_REGISTRATION' | 'DUPLICATE_RESOURCE' | 'DUPLICATE_SEQUENCE_NUMBER' | 'DUPLICATE_VOTER' | 'ELECTION_NOT_NEEDED' | 'ELIGIBLE_LEADERS_NOT_AVAILABLE' | 'FEATURE_UPDATE_FAILED' | 'FENCED_INSTANCE_ID' | 'FENCED_LEADER_EPOCH' | 'FENCED_MEMBER_EPOCH' | 'FENCED_STATE_EPOCH' | 'FETCH_SESSION_ID_NOT_FOUND' | 'FETCH_SESSION_TOPIC_ID_ERROR' | 'GROUP_AUTHORIZATION_FAILED' | 'GROUP_ID_NOT_FOUND' | 'GROUP_MAX_SIZE_REACHED' | 'GROUP_SUBSCRIBED_TO_TOPIC' | 'ILLEGAL_GENERATION' | 'ILLEGAL_SASL_STATE' | 'INCONSISTENT_CLUSTER_ID' | 'INCONSISTENT_GROUP_PROTOCOL' | 'INCONSISTENT_TOPIC_ID' | 'INCONSISTENT_VOTER_SET' | 'INELIGIBLE_REPLICA' | 'INVALID_COMMIT_OFFSET_SIZE' | 'INVALID_CONFIG' | 'INVALID_FETCH_SESSION_EPOCH' | 'INVALID_FETCH_SIZE' | 'INVALID_GROUP_ID' | 'INVALID_PARTITIONS' | 'INVALID_PRINCIPAL_TYPE' | 'INVALID_PRODUCER_EPOCH' | 'INVALID_PRODUCER_ID_MAPPING' | 'INVALID_RECORD' | 'INVALID_RECORD_STATE' | 'INVALID_REGISTRATION' | 'INVALID_REGULAR_EXPRESSION' | 'INVALID_REPLICATION_FACTOR' | 'INVALID_REPLICA_ASSIGNMENT' | 'INVALID_REQUEST' | 'INVALID_REQUIRED_ACKS' | 'INVALID_SESSION_TIMEOUT' | 'INVALID_SHARE_SESSION_EPOCH' | 'INVALID_TIMESTAMP' | 'INVALID_TOPIC_EXCEPTION' | 'INVALID_TRANSACTION_TIMEOUT' | 'INVALID_TXN_STATE' | 'INVALID_UPDATE_VERSION' | 'INVALID_VOTER_KEY' | 'KAFKA_STORAGE_ERROR' | 'LEADER_NOT_AVAILABLE' | 'LISTENER_NOT_FOUND' | 'LOG_DIR_NOT_FOUND' | 'MEMBER_ID_REQUIRED' | 'MESSAGE_TOO_LARGE' | 'MISMATCHED_ENDPOINT_TYPE' | 'NETWORK_EXCEPTION' | 'NEW_LEADER_ELECTED' | 'NONE' | 'NON_EMPTY_GROUP' | 'NOT_CONTROLLER' | 'NOT_COORDINATOR' | 'NOT_ENOUGH_REPLICAS' | 'NOT_ENOUGH_REPLICAS_AFTER_APPEND' | 'NOT_LEADER_OR_FOLLOWER' | 'NO_REASSIGNMENT_IN_PROGRESS' | 'OFFSET_METADATA_TOO_LARGE' | 'OFFSET_MOVED_TO_TIERED_STORAGE' | 'OFFSET_NOT_AVAILABLE' | 'OFFSET_OUT_OF_RANGE' | 'OPERATION_NOT_ATTEMPTED' | 'OUT_OF_ORDER_SEQUENCE_NUMBER' | 'POLICY_VIOLATION' | 'POSITION_OUT_OF_RANGE' | 'PREFERRED_LEADER_NOT_AVAILABLE' | 'PRINCIPAL_DESERIALIZATION_FAILURE' | 'PRODUCER_FENCED' | 'REASSIGNMENT_IN_PROGRESS' | 'REBALANCE_IN_PROGRESS' | 'REBOOTSTRAP_REQUIRED' | 'RECORD_LIST_TOO_LARGE' | 'REPLICA_NOT_AVAILABLE' | 'REQUEST_TIMED_OUT' | 'RESOURCE_NOT_FOUND' | 'SASL_AUTHENTICATION_FAILED' | 'SECURITY_DISABLED' | 'SHARE_SESSION_LIMIT_REACHED' | 'SHARE_SESSION_NOT_FOUND' | 'SNAPSHOT_NOT_FOUND' | 'STALE_BROKER_EPOCH' | 'STALE_CONTROLLER_EPOCH' | 'STALE_MEMBER_EPOCH' | 'STREAMS_INVALID_TOPOLOGY' | 'STREAMS_INVALID_TOPOLOGY_EPOCH' | 'STREAMS_TOPOLOGY_FENCED' | 'TELEMETRY_TOO_LARGE' | 'THROTTLING_QUOTA_EXCEEDED' | 'TOPIC_ALREADY_EXISTS' | 'TOPIC_AUTHORIZATION_FAILED' | 'TOPIC_DELETION_DISABLED' | 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' | 'TRANSACTIONAL_ID_NOT_FOUND' | 'TRANSACTION_ABORTABLE' | 'TRANSACTION_COORDINATOR_FENCED' | 'UNACCEPTABLE_CREDENTIAL' | 'UNKNOWN_CONTROLLER_ID' | 'UNKNOWN_LEADER_EPOCH' | 'UNKNOWN_MEMBER_ID' | 'UNKNOWN_PRODUCER_ID' | 'UNKNOWN_SERVER_ERROR' | 'UNKNOWN_SUBSCRIPTION_ID' | 'UNKNOWN_TOPIC_ID' | 'UNKNOWN_TOPIC_OR_PARTITION' | 'UNRELEASED_INSTANCE_ID' | 'UNSTABLE_OFFSET_COMMIT' | 'UNSUPPORTED_ASSIGNOR' | 'UNSUPPORTED_COMPRESSION_TYPE' | 'UNSUPPORTED_ENDPOINT_TYPE' | 'UNSUPPORTED_FOR_MESSAGE_FORMAT' | 'UNSUPPORTED_SASL_MECHANISM' | 'UNSUPPORTED_VERSION' | 'VOTER_NOT_FOUND'

export type NewAppendRuleDo = 'hold' | 'delay' | 'fail'

export type NewAppendRuleKind = 'group' | 'commit'

export type NewRuleDo = 'count' | 'error' | 'drop' | 'hold' | 'lose_answer' | 'close' | 'close_instead_of_answering' | 'truncate' | 'delay' | 'delay_answer' | 'assign' | 'deny' | 'hide_node' | 'stale_metadata' | 'as_kafka' | 'zombie'

export type Outcome = 'completed' | 'open' | 'superseded'

export type Protocol = 'classic' | 'consumer'

export type ResetTo = 'earliest' | 'latest'

export type ResourceType = 'cluster' | 'delegation_token' | 'group' | 'topic' | 'transactional_id' | 'user'

export type State = 'Assigning' | 'CompletingRebalance' | 'Dead' | 'Empty' | 'PreparingRebalance' | 'Reconciling' | 'Stable' | 'Unknown'

export type Until = 'Assigning' | 'CompletingRebalance' | 'Dead' | 'Empty' | 'PreparingRebalance' | 'Reconciling' | 'Stable' | 'access_denied' | 'assignment_received' | 'assignment_stored' | 'authentication_expired' | 'authentication_failed' | 'commit-answer' | 'commit-received' | 'commit_rejected' | 'commit_stats' | 'consumer-heartbeat-answer' | 'consumer-heartbeat-received' | 'coordinator_elected' | 'coordinator_resigned' | 'epoch_bumped' | 'group_converted' | 'group_created' | 'group_deleted' | 'group_loaded' | 'group_reconciled' | 'group_unloaded' | 'heartbeat-answer' | 'heartbeat-received' | 'heartbeat_gap' | 'heartbeat_stats' | 'join-complete' | 'join-received' | 'join_completed' | 'join_progress' | 'leave-received' | 'member_added' | 'member_assigned' | 'member_fenced' | 'member_id_issued' | 'member_metadata_changed' | 'member_reconciled' | 'member_rejoined' | 'member_removed' | 'member_replaced' | 'member_revoked' | 'member_revoking' | 'member_stepped_out' | 'member_synced' | 'offset-fetch-received' | 'offsets-loaded' | 'offsets_expired' | 'rebalance_completed' | 'rebalance_started' | 'rebalance_superseded' | 'sync-answer' | 'sync-received' | 'sync_timeout' | 'target_computed'

export type WaitsFor = 'join' | 'sync' | 'partitions' | 'nothing'

export type WantedState = 'Assigning' | 'CompletingRebalance' | 'Dead' | 'Empty' | 'PreparingRebalance' | 'Reconciling' | 'Stable'

/** An ACL that counts. */
export interface AclState {
  permission: AclPermission
  principal: string
  /** as Kafka calls it, DESCRIBE_CONFIGS */
  operation: string
  resource_type: ResourceType
  resource_name: string
  prefixed: boolean
  host: string
  /** all of it in words */
  text: string
}

/** How the brokers' clock goes after a jump. */
export interface AfterJump {
  /** milliseconds since the brokers were started */
  now_ms: number
  paused: boolean
  /** how many times as fast as the machine's it runs */
  scale: number
  /** a sentence for each member that the jump did not wait for longer */
  went_on_without: string[]
}

/** A rule at work. */
export interface AppendRuleState {
  number: number
  text: string
  /** how many appends were spoiled */
  acted: number
  /** how many are written and not reported */
  held: number
}

/** Where records went. */
export interface Appended {
  /** of the first one */
  offset: number
}

/** A key, a value, or a header's value. */
export interface Bytes {
  /** null where the bytes are no UTF-8 */
  text: string | null
  base64: string
}

/** How the brokers' clock goes. */
export interface ClockState {
  /** milliseconds since the brokers were started */
  now_ms: number
  paused: boolean
  /** how many times as fast as the machine's it runs */
  scale: number
}

/** Who is to reach which node no longer. */
export interface CutOff {
  client_id: string
  node: number
}

/** A row of the event log; what does not apply is left out. */
export interface EventRow {
  v: number
  event_id: string
  seq: number
  boot_id: string
  node_id: number
  ts: number
  mono_us: number
  co_partition: number
  co_epoch: number
  log_offset?: number | null
  group_id?: string | null
  group_type?: string | null
  protocol_type?: string | null
  protocol?: string | null
  kind: EventKind
  rebalance_id?: string | null
  state_from?: string | null
  state_to?: string | null
  generation?: number | null
  member_id?: string | null
  instance_id?: string | null
  client_id?: string | null
  client_host?: string | null
  client_software?: string | null
  member_epoch?: number | null
  cause?: Cause | null
  client_reason?: string | null
  error?: string | null
  duration_us?: number | null
  waited_for?: string[] | null
  members?: number | null
  joined?: string[] | null
  left?: string[] | null
  evicted?: string[] | null
  session_timeout_ms?: number | null
  rebalance_timeout_ms?: number | null
  partitions?: number | null
  detail?: Record<string, string> | null
}

/** A member that is to fall silent. */
export interface Freeze {
  group: string
  /** a member id, an instance id or a client id; null: all of them */
  member?: string | null
  /** a group.instance.id */
  instance?: string | null
  client_id?: string | null
}

/** A gate that holds. */
export interface GateState {
  name: Gate
  /** null: every group's requests */
  group: string | null
  held: Waiting[]
}

/** A group that something has happened to lately. */
export interface GlanceOverview {
  id: string
  /** classic or consumer */
  type: string
  state: string
  /** how many */
  members: number
  waits: WaitOverview[]
  /** for how long its rebalance has been going on; null: it is in none */
  since_ms: number | null
  /** its rebalances of the last ten minutes, the newest last */
  marks: MarkOverview[]
}

/** A group, whom it waits for, and what happened to it last. */
export interface GroupOverview {
  id: string
  /** classic or consumer */
  type: string
  state: string
  /** of a consumer group the group epoch */
  generation: number
  assignment_epoch: number
  protocol: string
  coordinator: number | null
  members: MemberOverview[]
  waits: WaitOverview[]
  /** the last ones, the newest last */
  rebalances: RebalanceOverview[]
  /** by topic and partition, where something is committed */
  lags: Record<string, Record<string, number>>
}

/** A group. */
export interface GroupState {
  id: string
  /** classic or consumer; empty where there is no group */
  type: GroupType
  state: State
  /** of a consumer group the group epoch */
  generation: number
  /** the epoch that the target assignment is for; else the generation */
  assignment_epoch: number
  /** the assignor */
  protocol: string
  migration: MigrationState
  /** the node that looks after it */
  coordinator: number | null
  members: MemberState[]
  /** what is committed, by `topic-partition` */
  offsets: Record<string, number>
  /** how many offsets are still to be committed, by `topic-partition` */
  lag: Record<string, number>
}

/** A group in a list. */
export interface GroupSummary {
  id: string
  /** classic or consumer */
  type: string
  state: string
  /** of a consumer group the group epoch */
  generation: number
  /** how many */
  members: number
}

/** A header of a record; a name may come twice. */
export interface HeaderState {
  name: string
  value: Bytes | null
}

/** What to hold. */
export interface Hold {
  name: Gate
  group?: string | null
}

/** How far it is to jump. */
export interface Jump {
  seconds: number
  /** also let the sessions end of members whose connection is open and whom no fault silences */
  expire_the_living?: boolean
  /** real seconds that the jump halts at most where a group waits for a live member; 0: it never does */
  patience?: number
}

/** One partition, and who leads it. */
export interface Leader {
  topic: string
  partition: number
  /** null: all nodes that have a copy are stopped */
  leader: number | null
  leader_epoch: number
  /** the preferred leader first */
  replicas: number[]
  in_sync: number[]
}

/** What a test has left behind. */
export interface Left {
  /** gates that were still held, and who waited there; they are open now */
  gates: string[]
  /** what has happened since the last time that must never happen */
  violations: string[]
  /** with `data`: groups that still have members, and so stay */
  groups: string[]
}

/** A rebalance on the axis of time. */
export interface MarkOverview {
  began_ms_ago: number
  /** null: it is not over */
  took_ms: number | null
  cause: string
  /** who was waited for last */
  laggard: string
}

/** A member. */
export interface MemberOverview {
  member_id: string
  instance_id: string | null
  client_id: string
  client_host: string
  /** join, sync, partitions, or nothing */
  waits_for: string
  is_alive: boolean
  /** classic or consumer */
  speaks: string
  /** in a consumer group its member epoch, in a classic one the generation */
  epoch: number
  /** what it is to have; in a classic group what it has */
  target: Record<string, number[]>
  /** what it is to give up and has not yet */
  revoking: Record<string, number[]>
  /** null: not while its request waits */
  session_ends_in_ms: number | null
  /** by topic */
  partitions: Record<string, number[]>
}

/** A member. */
export interface MemberState {
  member_id: string
  instance_id: string | null
  client_id: string
  client_host: string
  session_timeout_ms: number
  rebalance_timeout_ms: number
  is_leader: boolean
  /** its connection is open, and no fault keeps it silent */
  is_alive: boolean
  /** join, sync, partitions that others still have, or nothing */
  waits_for: string
  /** by topic */
  partitions: Record<string, number[]>
  /** a consumer group may have members of both protocols */
  speaks: Protocol
  /** in a consumer group its member epoch, in a classic one the generation */
  epoch: number
  /** in a consumer group Stable, UnrevokedPartitions or UnreleasedPartitions */
  state: string
  /** what it is to have; in a classic group what it has */
  target: Record<string, number[]>
  /** what it is to give up and has not yet */
  revoking: Record<string, number[]>
  /** the names that it subscribes to */
  topics: string[]
  topic_regex: string
  /** the server-side assignor that it votes for */
  assignor: string
  /** null: not while its request waits */
  session_ends_in_ms: number | null
  /** when it is removed if it gives up nothing */
  revocation_ends_in_ms: number | null
}

/** How far a group is between the classic and the consumer protocol. */
export interface MigrationState {
  protocol: string
  classic_members: number
  consumer_members: number
}

/** How far a topic is to grow. */
export interface MorePartitions {
  /** how many there are then */
  partitions: number
}

/** Who may do, or may not do, what: about one topic, group or transactional id, or the cluster. */
export interface NewAcl {
  permission?: AclPermission
  /** User:* is everybody */
  principal: string
  /** as Kafka calls it */
  operation?: string
  /** * is every one */
  topic?: string | null
  group?: string | null
  transactional_id?: string | null
  cluster?: boolean
  /** an address as text; * is any */
  host?: string
  /** whether it is about all whose name begins so */
  prefixed?: boolean
}

/** Which appends, what happens to them, and when. */
export interface NewAppendRule {
  /** a group with its assignment, or offsets; null: both */
  kind?: NewAppendRuleKind | null
  /** may hold * and ?; null: every group's */
  group?: string | null
  /** hold, delay: it is written, and the coordinator hears of it later; fail: it is not written */
  do: NewAppendRuleDo
  /** of a delay, by the brokers' clock */
  seconds?: number | null
  /** of a failure: what the storage says, by Kafka's name */
  error?: string
  /** so often and no more */
  times?: number | null
  /** from the n-th append on; alone: that one only */
  nth?: number | null
  probability?: number | null
}

/** Where the coordinator is to go. */
export interface NewCoordinator {
  node: number
}

/** Where a leadership is to go. */
export interface NewLeader {
  /** the node that is to lead from now on */
  node: number
}

/** What is to be committed. */
export interface NewOffsets {
  /** by `topic-partition` */
  offsets: Record<string, number>
}

/** Records of one batch. */
export interface NewRecords {
  /** null: a tombstone */
  values: (string | null)[]
  /** of all of them */
  key?: string | null
  /** of all of them */
  headers?: Record<string, string | null>
  partition?: number
}

/** Which requests, what happens to them, and when. */
export interface NewRule {
  /** conditions, all of which must hold; none: any request */
  match?: NewRuleMatch
  do: NewRuleDo
  /** what `do` takes */
  with?: NewRuleWith
  /** so often and no more */
  times?: number | null
  /** from the n-th matching request on; alone: that one only */
  nth?: number | null
  probability?: number | null
}

/** conditions, all of which must hold; none: any request */
export interface NewRuleMatch {
  /** Kafka's name: JoinGroup */
  api?: ApiName
  /** a number, or a range as in 3-5 */
  version?: string
  /** where it arrives */
  node?: number
  /** of who asks; in all texts * and ? stand for anything */
  client_id?: string
  /** of who asks: User:alice, or User:ANONYMOUS without a login */
  principal?: string
  /** the one it is about */
  group?: string
  /** a member id, an instance id or a client id */
  member?: string
  /** a group.instance.id */
  instance?: string
  /** that the request names */
  generation?: number
  /** the group's when the request comes, as on the wire: CompletingRebalance */
  state?: WantedState
}

/** what `do` takes */
export interface NewRuleWith {
  /** of an error, as Kafka calls it */
  name?: KafkaError
  /** of truncate: how many bytes of the answer arrive */
  length?: number
  /** of a delay, by the brokers' clock */
  seconds?: number
  /** of a delay: up to so many seconds more */
  jitter?: number
  /** of a delay: a group's state, a kind of group event, or a gate point */
  until?: Until
  /** of assign: one of nothing, everything_to_everybody, garbage; or partitions by member id and topic */
  shares?: string | Record<string, unknown>
  /** of hide_node */
  node?: number
  /** of as_kafka: one of 1.1, 2.4, 2.8, 3.4, 3.9, 4.3 */
  release?: string
  /** of deny, as Kafka calls it: Read; All, if it is not said */
  operation?: string
  /** of deny: a topic, or a pattern */
  topic?: string
  /** of deny: a group, or a pattern */
  group?: string
  /** of deny: a transactional id, or a pattern */
  transactional_id?: string
  /** of deny: the right on the cluster */
  cluster?: boolean
}

/** A topic to be. */
export interface NewTopic {
  name: string
  partitions?: number
  /** how many nodes have a copy; null: as the brokers are set */
  replicas?: number | null
  /** by Kafka's names; all else has the cluster's default */
  configs?: Record<string, string>
}

/** One node of the cluster. */
export interface NodeState {
  id: number
  /** where it listens, or will again */
  port: number
  running: boolean
  /** how many it leads */
  partitions: number
  /** how many it coordinates */
  groups: number
}

/** A cluster at one look. */
export interface Overview {
  /** how many run */
  brokers: number
  now_ms: number
  paused: boolean
  scale: number
  /** faults at work */
  rules: string[]
  /** gates that hold, and who waits there */
  gates: string[]
  groups: GroupOverview[]
}

/** A partition's log. */
export interface PartitionState {
  partition: number
  start_offset: number
  /** what the next record gets */
  end_offset: number
}

/** Why not. */
export interface Problem {
  /** one sentence that says what to do */
  detail: string
}

/** A rebalance. */
export interface RebalanceOverview {
  /** counted from 0 in each group */
  number: number
  generation: number
  cause: string
  actor: string
  /** open, completed or superseded */
  outcome: string
  prepare_ms: number | null
  complete_ms: number | null
  laggard: string
  began_ms_ago: number
}

/** A rebalance. */
export interface RebalanceState {
  group_type: Protocol
  generation: number
  cause: string
  actor: string
  outcome: Outcome
  prepare_ms: number | null
  complete_ms: number | null
  joined: string[]
  left: string[]
  evicted: string[]
  /** who was waited for last; in a consumer group for longest, to give up partitions */
  laggard: string
  /** for how long it was waited for */
  laggard_ms: number | null
  members: number
  /** partitions that had an owner and were given another one */
  moved: number | null
  /** how few had to; null where members subscribe to different topics */
  fewest_moves: number | null
  /** for how long partitions were nobody's, all added up */
  unowned_partition_s: number
}

/** A record as it stands in a partition's log. */
export interface RecordState {
  partition: number
  offset: number
  timestamp_ms: number
  key: Bytes | null
  /** null: a tombstone */
  value: Bytes | null
  headers: HeaderState[]
}

/** Whom to let through. */
export interface Release {
  /** a member id, instance id or client id, or a load's partition; null: everybody */
  who?: string | null
}

/** Where a group is to go on. */
export interface Reset {
  /** or an offset */
  to?: ResetTo | number
  /** in all its partitions; null: where the group has committed */
  topic?: string | null
}

/** A rule at work. */
export interface RuleState {
  number: number
  text: string
  /** matching requests so far */
  seen: number
  /** on how many of them it has acted */
  acted: number
  /** it will never act again */
  exhausted: boolean
}

/** How it is to go on. */
export interface Run {
  /** how many times as fast as the machine's; left out: as before */
  scale?: number | null
}

/** Where one may hold requests. */
export interface StopState {
  name: Gate
  about: string
}

/** A topic. */
export interface TopicState {
  name: string
  id: string
  internal: boolean
  /** what was set for it */
  configs: Record<string, string>
  partitions: PartitionState[]
}

/** What a partition is to forget. */
export interface Trim {
  /** records before this offset are deleted */
  before: number
  partition?: number
}

/** Something that a group waits for. */
export interface WaitOverview {
  /** nobody: it waits for time to go by */
  for_whom: string[]
  what: string
  /** when a timer ends it, on the brokers' clock; null: none does */
  ends_in_ms: number | null
  then: string
}

/** A request that waits, or (at `offsets-loaded`) a load. */
export interface Waiting {
  /** what it is, in words */
  text: string
  client_id: string
  member: string
  instance: string
  group: string
}

export interface Control {
  nodes: {
    /** All nodes, those that are stopped too. */
    list(): Promise<NodeState[]>
    /** Stop a node: others take over what it leads, where they have a copy; its connections and its port are closed. */
    stopNode(nodeId: number): Promise<NodeState>
    /** Start a node that was stopped, on the port it had. */
    startNode(nodeId: number): Promise<NodeState>
  }
  leaders: {
    /** Who leads each partition of all topics, or of one. */
    list(query?: { topic?: string | null }): Promise<Leader[]>
    /** Let another node lead a partition. Of `__consumer_offsets` that moves the coordinator of the groups it keeps. */
    move(topic: string, partition: number, body: NewLeader): Promise<Leader>
  }
  topics: {
    /** All topics, internal ones too, in the order in which they were created. */
    list(): Promise<TopicState[]>
    /** Make a topic, its leaders spread over the nodes. */
    create(body: NewTopic): Promise<TopicState>
    /** One topic. */
    read(topic: string): Promise<TopicState>
    /** Delete a topic with its records; groups forget what they have committed for it. */
    delete(topic: string): Promise<void>
    /** Give a topic more partitions. Consumers see that when they ask for metadata the next time. */
    grow(topic: string, body: MorePartitions): Promise<TopicState>
    /** Write records as one batch, and wake whoever waits for them. */
    append(topic: string, body: NewRecords): Promise<Appended>
    /** The records that are there. Markers of transactions are left out, records of aborted ones are not. */
    records(topic: string, query?: { partition?: number | null; offset?: number; limit?: number }): Promise<RecordState[]>
    /** Delete the first records of a partition, as Kafka's DeleteRecords does. */
    trim(topic: string, body: Trim): Promise<TopicState>
  }
  clock: {
    /** Where it stands. */
    read(): Promise<ClockState>
    /** Let it stand still: no session ends, no rebalance times out. Requests are answered all the same. */
    pause(): Promise<ClockState>
    /** Let it go on. */
    run(body?: Run | null): Promise<ClockState>
    /** Let it jump; everything that falls due on the way happens, in its order. Members that live go on living, and the jump halts while their group waits for them. */
    advance(body: Jump): Promise<AfterJump>
  }
  faults: {
    /** The rules, in the order in which they are tried. */
    listRules(): Promise<RuleState[]>
    /** Make a rule. One that can never match is refused, with the nearest word that could. */
    add(body: NewRule): Promise<RuleState>
    /** End all rules. */
    clear(): Promise<void>
    /** A member falls silent without leaving, as a process that hangs, until the rule is removed. */
    freeze(body: Freeze): Promise<RuleState>
    /** A client and a node no longer reach each other, until the rule is removed. */
    cutOff(body: CutOff): Promise<RuleState>
    /** Answered when a rule has acted so often; 408 when that takes too long. */
    wait(number: number, query?: { times?: number; timeout?: number }): Promise<RuleState>
    /** End a rule: what it holds goes on, what it has silenced is closed. */
    remove(number: number): Promise<void>
  }
  appends: {
    /** The rules, in the order in which they are tried. */
    listRules(): Promise<AppendRuleState[]>
    /** Make a rule. */
    add(body: NewAppendRule): Promise<AppendRuleState>
    /** End all rules. */
    clear(): Promise<void>
    /** Report what a rule holds; it goes on holding. */
    release(number: number): Promise<AppendRuleState>
    /** End a rule: what it holds is reported. */
    remove(number: number): Promise<void>
  }
  acls: {
    /** All ACLs, those that clients have made too. */
    list(): Promise<AclState[]>
    /** Make an ACL. It counts for the next request, until it is removed or everything is reset. */
    add(body: NewAcl): Promise<AclState>
    /** Remove all ACLs that are so, those that clients have made too; what is left out may be anything. */
    remove(query?: { permission?: AclPermission | null; principal?: string | null; operation?: string | null; topic?: string | null; group?: string | null; transactional_id?: string | null; cluster?: boolean; host?: string | null; prefixed?: boolean | null }): Promise<AclState[]>
  }
  gates: {
    /** Where one may hold requests. */
    listStops(): Promise<StopState[]>
    /** The gates that hold, and who waits at them. */
    list(): Promise<GateState[]>
    /** Close a gate. */
    hold(body: Hold): Promise<GateState>
    /** Let one through, or everybody who waits; the gate goes on holding. `group`: where several have that name. */
    release(name: string, body: Release, query?: { group?: string | null }): Promise<GateState>
    /** Open a gate: everybody who waits goes through, and nobody is held any more. `group`: as above. */
    openGate(name: string, query?: { group?: string | null }): Promise<void>
  }
  groups: {
    /** All groups that have a coordinator, classic groups and consumer groups (KIP-848). */
    list(): Promise<GroupState[]>
    /** One group, with its members and offsets. */
    read(groupId: string): Promise<GroupState>
    /** Delete a group without members, with what it has committed. */
    delete(groupId: string): Promise<void>
    /** Answered when the group is in a state and all else that is given holds; 408 when that takes too long. */
    wait(groupId: string, query?: { state?: WantedState | null; members?: number | null; member?: string | null; waits_for?: WaitsFor | null; generation?: number | null; migrated_to?: Protocol | null; caught_up?: boolean; committed?: string | null; timeout?: number }): Promise<GroupState>
    /** One member, by member id, instance id or client id. */
    readMember(groupId: string, who: string): Promise<MemberState>
    /** Its rebalances since the broker was started, the first one first. */
    history(groupId: string, query?: { last?: number | null }): Promise<RebalanceState[]>
    /** Everything that happened to it, a line an event. */
    timeline(groupId: string): Promise<string[]>
    /** Whom it waits for and until when, what each client should do now, what is badly set: a line each. */
    explanation(groupId: string): Promise<string[]>
    /** Let another node look after it, and after all groups of its partition of `__consumer_offsets`. */
    move(groupId: string, body: NewCoordinator): Promise<GroupState>
    /** Commit for a group without members, as Kafka's tools do; it is made if it is not there. */
    commit(groupId: string, body: NewOffsets): Promise<GroupState>
    /** Set a group without members to the earliest offsets, to the latest, or to one. */
    reset(groupId: string, body: Reset): Promise<GroupState>
  }
  violations: {
    /** A sentence each: two owners of a partition, a commit that goes back or comes from a fenced generation. */
    list(): Promise<string[]>
    /** Begin anew, as between two tests. Answers what there was. */
    clear(): Promise<string[]>
  }
  overview: {
    /** All groups in a word each, for whoever lists many of them again and again. */
    listGroups(): Promise<GroupSummary[]>
    /** The groups of the last ten minutes by the brokers' clock, at most 30, the most troubled first. */
    atAGlance(): Promise<GlanceOverview[]>
    /** The clock, what spoils and holds requests, and the groups whose ids are like a pattern (with * and ?). */
    read(query?: { groups?: string }): Promise<Overview>
  }
  reset: {
    /** End all rules, open all gates, and let the clock run like the machine's. Groups, topics and time stay. */
    reset(query?: { data?: boolean }): Promise<Left>
  }
  events: {
    /** Every event that was recorded so far, of one group or of all, of one kind or of all. */
    past(query?: { group?: string | null; kind?: EventKind | null; last?: number | null }): Promise<EventRow[]>
    /** Every event from now on, of one group or of all; with `past` what was recorded comes first. */
    stream(query?: { group?: string | null; past?: boolean }): AsyncGenerator<EventRow>
  }
  metrics: {
    /** The groups of all nodes in Prometheus's text format. What happens is counted from the first request on. */
    read(): Promise<string>
  }
}
