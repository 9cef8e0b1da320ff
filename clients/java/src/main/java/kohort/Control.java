// Made by `python -m tests.control.typed_clients` from /openapi.json; a test compares it with that.
package kohort;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.type.TypeReference;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The control address of a broker: what one may do to it, and what it tells. A refusal is a {@link Refused}. */
public final class Control {
    public final NodesRequests nodes;
    public final LeadersRequests leaders;
    public final TopicsRequests topics;
    public final ClockRequests clock;
    public final FaultsRequests faults;
    public final AppendsRequests appends;
    public final AclsRequests acls;
    public final GatesRequests gates;
    public final GroupsRequests groups;
    public final ViolationsRequests violations;
    public final OverviewRequests overview;
    public final ResetRequests reset;
    public final EventsRequests events;
    public final MetricsRequests metrics;

    Control(ControlAddress address) {
        nodes = new NodesRequests(address);
        leaders = new LeadersRequests(address);
        topics = new TopicsRequests(address);
        clock = new ClockRequests(address);
        faults = new FaultsRequests(address);
        appends = new AppendsRequests(address);
        acls = new AclsRequests(address);
        gates = new GatesRequests(address);
        groups = new GroupsRequests(address);
        violations = new ViolationsRequests(address);
        overview = new OverviewRequests(address);
        reset = new ResetRequests(address);
        events = new EventsRequests(address);
        metrics = new MetricsRequests(address);
    }

    /** The requests about nodes. */
    public static final class NodesRequests {
        private final ControlAddress address;

        private NodesRequests(ControlAddress address) {
            this.address = address;
        }

        /** All nodes, those that are stopped too. */
        public List<NodeState> list() {
            return address.ask("GET", "/nodes", Map.of(), null, new TypeReference<List<NodeState>>() {});
        }

        /** Stop a node: others take over what it leads, where they have a copy; its connections and its port are closed. */
        public NodeState stopNode(long nodeId) {
            return address.ask("POST", "/nodes/" + ControlAddress.part(nodeId) + "/stop", Map.of(), null, new TypeReference<NodeState>() {});
        }

        /** Start a node that was stopped, on the port it had. */
        public NodeState startNode(long nodeId) {
            return address.ask("POST", "/nodes/" + ControlAddress.part(nodeId) + "/start", Map.of(), null, new TypeReference<NodeState>() {});
        }
    }

    /** The requests about leaders. */
    public static final class LeadersRequests {
        private final ControlAddress address;

        private LeadersRequests(ControlAddress address) {
            this.address = address;
        }

        /** Who leads each partition of all topics, or of one. */
        public List<Leader> list() {
            return address.ask("GET", "/leaders", Map.of(), null, new TypeReference<List<Leader>>() {});
        }

        /** Who leads each partition of all topics, or of one. */
        public List<Leader> list(String topic) {
            return address.ask("GET", "/leaders", ControlAddress.query("topic", topic), null, new TypeReference<List<Leader>>() {});
        }

        /** Let another node lead a partition. Of `__consumer_offsets` that moves the coordinator of the groups it keeps. */
        public Leader move(String topic, long partition, NewLeader body) {
            return address.ask("POST", "/leaders/" + ControlAddress.part(topic) + "/" + ControlAddress.part(partition), Map.of(), body, new TypeReference<Leader>() {});
        }
    }

    /** The requests about topics. */
    public static final class TopicsRequests {
        private final ControlAddress address;

        private TopicsRequests(ControlAddress address) {
            this.address = address;
        }

        /** All topics, internal ones too, in the order in which they were created. */
        public List<TopicState> list() {
            return address.ask("GET", "/topics", Map.of(), null, new TypeReference<List<TopicState>>() {});
        }

        /** Make a topic, its leaders spread over the nodes. */
        public TopicState create(NewTopic body) {
            return address.ask("POST", "/topics", Map.of(), body, new TypeReference<TopicState>() {});
        }

        /** One topic. */
        public TopicState read(String topic) {
            return address.ask("GET", "/topics/" + ControlAddress.part(topic), Map.of(), null, new TypeReference<TopicState>() {});
        }

        /** Delete a topic with its records; groups forget what they have committed for it. */
        public void delete(String topic) {
            address.ask("DELETE", "/topics/" + ControlAddress.part(topic), Map.of(), null, null);
        }

        /** Give a topic more partitions. Consumers see that when they ask for metadata the next time. */
        public TopicState grow(String topic, MorePartitions body) {
            return address.ask("POST", "/topics/" + ControlAddress.part(topic) + "/partitions", Map.of(), body, new TypeReference<TopicState>() {});
        }

        /** Write records as one batch, and wake whoever waits for them. */
        public Appended append(String topic, NewRecords body) {
            return address.ask("POST", "/topics/" + ControlAddress.part(topic) + "/records", Map.of(), body, new TypeReference<Appended>() {});
        }

        /** The records that are there. Markers of transactions are left out, records of aborted ones are not. */
        public List<RecordState> records(String topic) {
            return address.ask("GET", "/topics/" + ControlAddress.part(topic) + "/records", Map.of(), null, new TypeReference<List<RecordState>>() {});
        }

        /** The records that are there. Markers of transactions are left out, records of aborted ones are not. */
        public List<RecordState> records(String topic, TopicsRecords query) {
            return address.ask("GET", "/topics/" + ControlAddress.part(topic) + "/records", query.parameters(), null, new TypeReference<List<RecordState>>() {});
        }

        /** Delete the first records of a partition, as Kafka's DeleteRecords does. */
        public TopicState trim(String topic, Trim body) {
            return address.ask("POST", "/topics/" + ControlAddress.part(topic) + "/trim", Map.of(), body, new TypeReference<TopicState>() {});
        }
    }

    /** The requests about clock. */
    public static final class ClockRequests {
        private final ControlAddress address;

        private ClockRequests(ControlAddress address) {
            this.address = address;
        }

        /** Where it stands. */
        public ClockState read() {
            return address.ask("GET", "/clock", Map.of(), null, new TypeReference<ClockState>() {});
        }

        /** Let it stand still: no session ends, no rebalance times out. Requests are answered all the same. */
        public ClockState pause() {
            return address.ask("POST", "/clock/pause", Map.of(), null, new TypeReference<ClockState>() {});
        }

        /** Let it go on. */
        public ClockState run() {
            return address.ask("POST", "/clock/run", Map.of(), null, new TypeReference<ClockState>() {});
        }

        /** Let it go on. */
        public ClockState run(Run body) {
            return address.ask("POST", "/clock/run", Map.of(), body, new TypeReference<ClockState>() {});
        }

        /** Let it jump; everything that falls due on the way happens, in its order. Members that live go on living, and the jump halts while their group waits for them. */
        public AfterJump advance(Jump body) {
            return address.ask("POST", "/clock/advance", Map.of(), body, new TypeReference<AfterJump>() {});
        }
    }

    /** The requests about faults. */
    public static final class FaultsRequests {
        private final ControlAddress address;

        private FaultsRequests(ControlAddress address) {
            this.address = address;
        }

        /** The rules, in the order in which they are tried. */
        public List<RuleState> listRules() {
            return address.ask("GET", "/faults", Map.of(), null, new TypeReference<List<RuleState>>() {});
        }

        /** Make a rule. One that can never match is refused, with the nearest word that could. */
        public RuleState add(NewRule body) {
            return address.ask("POST", "/faults", Map.of(), body, new TypeReference<RuleState>() {});
        }

        /** End all rules. */
        public void clear() {
            address.ask("DELETE", "/faults", Map.of(), null, null);
        }

        /** A member falls silent without leaving, as a process that hangs, until the rule is removed. */
        public RuleState freeze(Freeze body) {
            return address.ask("POST", "/faults/freeze", Map.of(), body, new TypeReference<RuleState>() {});
        }

        /** A client and a node no longer reach each other, until the rule is removed. */
        public RuleState cutOff(CutOff body) {
            return address.ask("POST", "/faults/cut-off", Map.of(), body, new TypeReference<RuleState>() {});
        }

        /** Answered when a rule has acted so often; 408 when that takes too long. */
        public RuleState wait(long number) {
            return address.ask("GET", "/faults/" + ControlAddress.part(number) + "/wait", Map.of(), null, new TypeReference<RuleState>() {});
        }

        /** Answered when a rule has acted so often; 408 when that takes too long. */
        public RuleState wait(long number, FaultsWait query) {
            return address.ask("GET", "/faults/" + ControlAddress.part(number) + "/wait", query.parameters(), null, new TypeReference<RuleState>() {});
        }

        /** End a rule: what it holds goes on, what it has silenced is closed. */
        public void remove(long number) {
            address.ask("DELETE", "/faults/" + ControlAddress.part(number), Map.of(), null, null);
        }
    }

    /** The requests about appends. */
    public static final class AppendsRequests {
        private final ControlAddress address;

        private AppendsRequests(ControlAddress address) {
            this.address = address;
        }

        /** The rules, in the order in which they are tried. */
        public List<AppendRuleState> listRules() {
            return address.ask("GET", "/appends", Map.of(), null, new TypeReference<List<AppendRuleState>>() {});
        }

        /** Make a rule. */
        public AppendRuleState add(NewAppendRule body) {
            return address.ask("POST", "/appends", Map.of(), body, new TypeReference<AppendRuleState>() {});
        }

        /** End all rules. */
        public void clear() {
            address.ask("DELETE", "/appends", Map.of(), null, null);
        }

        /** Report what a rule holds; it goes on holding. */
        public AppendRuleState release(long number) {
            return address.ask("POST", "/appends/" + ControlAddress.part(number) + "/release", Map.of(), null, new TypeReference<AppendRuleState>() {});
        }

        /** End a rule: what it holds is reported. */
        public void remove(long number) {
            address.ask("DELETE", "/appends/" + ControlAddress.part(number), Map.of(), null, null);
        }
    }

    /** The requests about acls. */
    public static final class AclsRequests {
        private final ControlAddress address;

        private AclsRequests(ControlAddress address) {
            this.address = address;
        }

        /** All ACLs, those that clients have made too. */
        public List<AclState> list() {
            return address.ask("GET", "/acls", Map.of(), null, new TypeReference<List<AclState>>() {});
        }

        /** Make an ACL. It counts for the next request, until it is removed or everything is reset. */
        public AclState add(NewAcl body) {
            return address.ask("POST", "/acls", Map.of(), body, new TypeReference<AclState>() {});
        }

        /** Remove all ACLs that are so, those that clients have made too; what is left out may be anything. */
        public List<AclState> remove() {
            return address.ask("DELETE", "/acls", Map.of(), null, new TypeReference<List<AclState>>() {});
        }

        /** Remove all ACLs that are so, those that clients have made too; what is left out may be anything. */
        public List<AclState> remove(AclsRemove query) {
            return address.ask("DELETE", "/acls", query.parameters(), null, new TypeReference<List<AclState>>() {});
        }
    }

    /** The requests about gates. */
    public static final class GatesRequests {
        private final ControlAddress address;

        private GatesRequests(ControlAddress address) {
            this.address = address;
        }

        /** Where one may hold requests. */
        public List<StopState> listStops() {
            return address.ask("GET", "/gates/stops", Map.of(), null, new TypeReference<List<StopState>>() {});
        }

        /** The gates that hold, and who waits at them. */
        public List<GateState> list() {
            return address.ask("GET", "/gates", Map.of(), null, new TypeReference<List<GateState>>() {});
        }

        /** Close a gate. */
        public GateState hold(Hold body) {
            return address.ask("POST", "/gates", Map.of(), body, new TypeReference<GateState>() {});
        }

        /** Let one through, or everybody who waits; the gate goes on holding. `group`: where several have that name. */
        public GateState release(String name, Release body) {
            return address.ask("POST", "/gates/" + ControlAddress.part(name) + "/release", Map.of(), body, new TypeReference<GateState>() {});
        }

        /** Let one through, or everybody who waits; the gate goes on holding. `group`: where several have that name. */
        public GateState release(String name, Release body, String group) {
            return address.ask("POST", "/gates/" + ControlAddress.part(name) + "/release", ControlAddress.query("group", group), body, new TypeReference<GateState>() {});
        }

        /** Open a gate: everybody who waits goes through, and nobody is held any more. `group`: as above. */
        public void openGate(String name) {
            address.ask("DELETE", "/gates/" + ControlAddress.part(name), Map.of(), null, null);
        }

        /** Open a gate: everybody who waits goes through, and nobody is held any more. `group`: as above. */
        public void openGate(String name, String group) {
            address.ask("DELETE", "/gates/" + ControlAddress.part(name), ControlAddress.query("group", group), null, null);
        }
    }

    /** The requests about groups. */
    public static final class GroupsRequests {
        private final ControlAddress address;

        private GroupsRequests(ControlAddress address) {
            this.address = address;
        }

        /** All groups that have a coordinator, classic groups and consumer groups (KIP-848). */
        public List<GroupState> list() {
            return address.ask("GET", "/groups", Map.of(), null, new TypeReference<List<GroupState>>() {});
        }

        /** One group, with its members and offsets. */
        public GroupState read(String groupId) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId), Map.of(), null, new TypeReference<GroupState>() {});
        }

        /** Delete a group without members, with what it has committed. */
        public void delete(String groupId) {
            address.ask("DELETE", "/groups/" + ControlAddress.part(groupId), Map.of(), null, null);
        }

        /** Answered when the group is in a state and all else that is given holds; 408 when that takes too long. */
        public GroupState wait(String groupId) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/wait", Map.of(), null, new TypeReference<GroupState>() {});
        }

        /** Answered when the group is in a state and all else that is given holds; 408 when that takes too long. */
        public GroupState wait(String groupId, GroupsWait query) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/wait", query.parameters(), null, new TypeReference<GroupState>() {});
        }

        /** One member, by member id, instance id or client id. */
        public MemberState readMember(String groupId, String who) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/members/" + ControlAddress.part(who), Map.of(), null, new TypeReference<MemberState>() {});
        }

        /** Its rebalances since the broker was started, the first one first. */
        public List<RebalanceState> history(String groupId) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/history", Map.of(), null, new TypeReference<List<RebalanceState>>() {});
        }

        /** Its rebalances since the broker was started, the first one first. */
        public List<RebalanceState> history(String groupId, long last) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/history", ControlAddress.query("last", last), null, new TypeReference<List<RebalanceState>>() {});
        }

        /** Everything that happened to it, a line an event. */
        public List<String> timeline(String groupId) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/timeline", Map.of(), null, new TypeReference<List<String>>() {});
        }

        /** Whom it waits for and until when, what each client should do now, what is badly set: a line each. */
        public List<String> explanation(String groupId) {
            return address.ask("GET", "/groups/" + ControlAddress.part(groupId) + "/explanation", Map.of(), null, new TypeReference<List<String>>() {});
        }

        /** Let another node look after it, and after all groups of its partition of `__consumer_offsets`. */
        public GroupState move(String groupId, NewCoordinator body) {
            return address.ask("POST", "/groups/" + ControlAddress.part(groupId) + "/coordinator", Map.of(), body, new TypeReference<GroupState>() {});
        }

        /** Commit for a group without members, as Kafka's tools do; it is made if it is not there. */
        public GroupState commit(String groupId, NewOffsets body) {
            return address.ask("PUT", "/groups/" + ControlAddress.part(groupId) + "/offsets", Map.of(), body, new TypeReference<GroupState>() {});
        }

        /** Set a group without members to the earliest offsets, to the latest, or to one. */
        public GroupState reset(String groupId, Reset body) {
            return address.ask("POST", "/groups/" + ControlAddress.part(groupId) + "/reset", Map.of(), body, new TypeReference<GroupState>() {});
        }
    }

    /** The requests about violations. */
    public static final class ViolationsRequests {
        private final ControlAddress address;

        private ViolationsRequests(ControlAddress address) {
            this.address = address;
        }

        /** A sentence each: two owners of a partition, a commit that goes back or comes from a fenced generation. */
        public List<String> list() {
            return address.ask("GET", "/violations", Map.of(), null, new TypeReference<List<String>>() {});
        }

        /** Begin anew, as between two tests. Answers what there was. */
        public List<String> clear() {
            return address.ask("DELETE", "/violations", Map.of(), null, new TypeReference<List<String>>() {});
        }
    }

    /** The requests about overview. */
    public static final class OverviewRequests {
        private final ControlAddress address;

        private OverviewRequests(ControlAddress address) {
            this.address = address;
        }

        /** All groups in a word each, for whoever lists many of them again and again. */
        public List<GroupSummary> listGroups() {
            return address.ask("GET", "/overview/groups", Map.of(), null, new TypeReference<List<GroupSummary>>() {});
        }

        /** The groups of the last ten minutes by the brokers' clock, at most 30, the most troubled first. */
        public List<GlanceOverview> atAGlance() {
            return address.ask("GET", "/overview/glance", Map.of(), null, new TypeReference<List<GlanceOverview>>() {});
        }

        /** The clock, what spoils and holds requests, and the groups whose ids are like a pattern (with * and ?). */
        public Overview read() {
            return address.ask("GET", "/overview", Map.of(), null, new TypeReference<Overview>() {});
        }

        /** The clock, what spoils and holds requests, and the groups whose ids are like a pattern (with * and ?). */
        public Overview read(String groups) {
            return address.ask("GET", "/overview", ControlAddress.query("groups", groups), null, new TypeReference<Overview>() {});
        }
    }

    /** The requests about reset. */
    public static final class ResetRequests {
        private final ControlAddress address;

        private ResetRequests(ControlAddress address) {
            this.address = address;
        }

        /** End all rules, open all gates, and let the clock run like the machine's. Groups, topics and time stay. */
        public Left reset() {
            return address.ask("POST", "/reset", Map.of(), null, new TypeReference<Left>() {});
        }

        /** End all rules, open all gates, and let the clock run like the machine's. Groups, topics and time stay. */
        public Left reset(boolean data) {
            return address.ask("POST", "/reset", ControlAddress.query("data", data), null, new TypeReference<Left>() {});
        }
    }

    /** The requests about events. */
    public static final class EventsRequests {
        private final ControlAddress address;

        private EventsRequests(ControlAddress address) {
            this.address = address;
        }

        /** Every event that was recorded so far, of one group or of all, of one kind or of all. */
        public List<EventRow> past() {
            return address.ask("GET", "/events/past", Map.of(), null, new TypeReference<List<EventRow>>() {});
        }

        /** Every event that was recorded so far, of one group or of all, of one kind or of all. */
        public List<EventRow> past(EventsPast query) {
            return address.ask("GET", "/events/past", query.parameters(), null, new TypeReference<List<EventRow>>() {});
        }

        /** Every event from now on, of one group or of all; with `past` what was recorded comes first. */
        public Stream<EventRow> stream() {
            return address.events("GET", "/events", Map.of(), null, new TypeReference<EventRow>() {});
        }

        /** Every event from now on, of one group or of all; with `past` what was recorded comes first. */
        public Stream<EventRow> stream(EventsStream query) {
            return address.events("GET", "/events", query.parameters(), null, new TypeReference<EventRow>() {});
        }
    }

    /** The requests about metrics. */
    public static final class MetricsRequests {
        private final ControlAddress address;

        private MetricsRequests(ControlAddress address) {
            this.address = address;
        }

        /** The groups of all nodes in Prometheus's text format. What happens is counted from the first request on. */
        public String read() {
            return address.text("GET", "/metrics", Map.of(), null);
        }
    }

    /**
     * What topics.records may be given.
     * @param partition left out: all, one after the other
     * @param offset from this one on
     */
    public record TopicsRecords(
            @JsonProperty("partition") Long partition,
            @JsonProperty("offset") Long offset,
            @JsonProperty("limit") Long limit) {
        public TopicsRecords() {
            this(null, null, null);
        }

        public TopicsRecords partition(long partition) {
            return new TopicsRecords(partition, offset, limit);
        }

        public TopicsRecords offset(long offset) {
            return new TopicsRecords(partition, offset, limit);
        }

        public TopicsRecords limit(long limit) {
            return new TopicsRecords(partition, offset, limit);
        }

        Map<String, Object> parameters() {
            Map<String, Object> given = new LinkedHashMap<>();
            given.put("partition", partition);
            given.put("offset", offset);
            given.put("limit", limit);
            return given;
        }
    }

    /**
     * What faults.wait may be given.
     * @param times so often, since the rule was made
     * @param timeout in seconds
     */
    public record FaultsWait(
            @JsonProperty("times") Long times,
            @JsonProperty("timeout") Double timeout) {
        public FaultsWait() {
            this(null, null);
        }

        public FaultsWait times(long times) {
            return new FaultsWait(times, timeout);
        }

        public FaultsWait timeout(double timeout) {
            return new FaultsWait(times, timeout);
        }

        Map<String, Object> parameters() {
            Map<String, Object> given = new LinkedHashMap<>();
            given.put("times", times);
            given.put("timeout", timeout);
            return given;
        }
    }

    /**
     * What acls.remove may be given.
     * @param cluster those about the cluster
     */
    public record AclsRemove(
            @JsonProperty("permission") AclPermission permission,
            @JsonProperty("principal") String principal,
            @JsonProperty("operation") String operation,
            @JsonProperty("topic") String topic,
            @JsonProperty("group") String group,
            @JsonProperty("transactional_id") String transactionalId,
            @JsonProperty("cluster") Boolean cluster,
            @JsonProperty("host") String host,
            @JsonProperty("prefixed") Boolean prefixed) {
        public AclsRemove() {
            this(null, null, null, null, null, null, null, null, null);
        }

        public AclsRemove permission(AclPermission permission) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove principal(String principal) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove operation(String operation) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove topic(String topic) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove group(String group) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove transactionalId(String transactionalId) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove cluster(boolean cluster) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove host(String host) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public AclsRemove prefixed(boolean prefixed) {
            return new AclsRemove(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        Map<String, Object> parameters() {
            Map<String, Object> given = new LinkedHashMap<>();
            given.put("permission", permission);
            given.put("principal", principal);
            given.put("operation", operation);
            given.put("topic", topic);
            given.put("group", group);
            given.put("transactional_id", transactionalId);
            given.put("cluster", cluster);
            given.put("host", host);
            given.put("prefixed", prefixed);
            return given;
        }
    }

    /**
     * What groups.wait may be given.
     * @param state left out: Stable, or any where offsets are waited for
     * @param members so many of them, no more and no less
     * @param member this one is in it: a member id, instance id or client id
     * @param waitsFor what `member` waits for
     * @param generation it has come to this one, or further
     * @param migratedTo the group and all its members speak this protocol
     * @param caughtUp it has a lag, and that is 0 everywhere
     * @param committed so much of a partition, or more: `topic-partition:offset`
     * @param timeout in seconds
     */
    public record GroupsWait(
            @JsonProperty("state") WantedState state,
            @JsonProperty("members") Long members,
            @JsonProperty("member") String member,
            @JsonProperty("waits_for") WaitsFor waitsFor,
            @JsonProperty("generation") Long generation,
            @JsonProperty("migrated_to") Protocol migratedTo,
            @JsonProperty("caught_up") Boolean caughtUp,
            @JsonProperty("committed") String committed,
            @JsonProperty("timeout") Double timeout) {
        public GroupsWait() {
            this(null, null, null, null, null, null, null, null, null);
        }

        public GroupsWait state(WantedState state) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait members(long members) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait member(String member) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait waitsFor(WaitsFor waitsFor) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait generation(long generation) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait migratedTo(Protocol migratedTo) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait caughtUp(boolean caughtUp) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait committed(String committed) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        public GroupsWait timeout(double timeout) {
            return new GroupsWait(state, members, member, waitsFor, generation, migratedTo, caughtUp, committed, timeout);
        }

        Map<String, Object> parameters() {
            Map<String, Object> given = new LinkedHashMap<>();
            given.put("state", state);
            given.put("members", members);
            given.put("member", member);
            given.put("waits_for", waitsFor);
            given.put("generation", generation);
            given.put("migrated_to", migratedTo);
            given.put("caught_up", caughtUp);
            given.put("committed", committed);
            given.put("timeout", timeout);
            return given;
        }
    }

    /**
     * What events.past may be given.
     * @param last so many of them, the newest; left out: all
     */
    public record EventsPast(
            @JsonProperty("group") String group,
            @JsonProperty("kind") EventKind kind,
            @JsonProperty("last") Long last) {
        public EventsPast() {
            this(null, null, null);
        }

        public EventsPast group(String group) {
            return new EventsPast(group, kind, last);
        }

        public EventsPast kind(EventKind kind) {
            return new EventsPast(group, kind, last);
        }

        public EventsPast last(long last) {
            return new EventsPast(group, kind, last);
        }

        Map<String, Object> parameters() {
            Map<String, Object> given = new LinkedHashMap<>();
            given.put("group", group);
            given.put("kind", kind);
            given.put("last", last);
            return given;
        }
    }

    /**
     * What events.stream may be given.
     */
    public record EventsStream(
            @JsonProperty("group") String group,
            @JsonProperty("past") Boolean past) {
        public EventsStream() {
            this(null, null);
        }

        public EventsStream group(String group) {
            return new EventsStream(group, past);
        }

        public EventsStream past(boolean past) {
            return new EventsStream(group, past);
        }

        Map<String, Object> parameters() {
            Map<String, Object> given = new LinkedHashMap<>();
            given.put("group", group);
            given.put("past", past);
            return given;
        }
    }

    /**
     * An ACL that counts.
     * @param operation as Kafka calls it, DESCRIBE_CONFIGS
     * @param text all of it in words
     */
    public record AclState(
            @JsonProperty("permission") AclPermission permission,
            @JsonProperty("principal") String principal,
            @JsonProperty("operation") String operation,
            @JsonProperty("resource_type") ResourceType resourceType,
            @JsonProperty("resource_name") String resourceName,
            @JsonProperty("prefixed") boolean prefixed,
            @JsonProperty("host") String host,
            @JsonProperty("text") String text) {
    }

    /**
     * How the brokers' clock goes after a jump.
     * @param nowMs milliseconds since the brokers were started
     * @param scale how many times as fast as the machine's it runs
     * @param wentOnWithout a sentence for each member that the jump did not wait for longer
     */
    public record AfterJump(
            @JsonProperty("now_ms") long nowMs,
            @JsonProperty("paused") boolean paused,
            @JsonProperty("scale") double scale,
            @JsonProperty("went_on_without") List<String> wentOnWithout) {
    }

    /**
     * A rule at work.
     * @param acted how many appends were spoiled
     * @param held how many are written and not reported
     */
    public record AppendRuleState(
            @JsonProperty("number") long number,
            @JsonProperty("text") String text,
            @JsonProperty("acted") long acted,
            @JsonProperty("held") long held) {
    }

    /**
     * Where records went.
     * @param offset of the first one
     */
    public record Appended(
            @JsonProperty("offset") long offset) {
    }

    /**
     * A key, a value, or a header's value.
     * @param text null where the bytes are no UTF-8
     */
    public record Bytes(
            @JsonProperty("text") String text,
            @JsonProperty("base64") String base64) {
    }

    /**
     * How the brokers' clock goes.
     * @param nowMs milliseconds since the brokers were started
     * @param scale how many times as fast as the machine's it runs
     */
    public record ClockState(
            @JsonProperty("now_ms") long nowMs,
            @JsonProperty("paused") boolean paused,
            @JsonProperty("scale") double scale) {
    }

    /**
     * Who is to reach which node no longer.
     */
    public record CutOff(
            @JsonProperty("client_id") String clientId,
            @JsonProperty("node") long node) {
    }

    /**
     * A row of the event log; what does not apply is left out.
     */
    public record EventRow(
            @JsonProperty("v") long v,
            @JsonProperty("event_id") String eventId,
            @JsonProperty("seq") long seq,
            @JsonProperty("boot_id") String bootId,
            @JsonProperty("node_id") long nodeId,
            @JsonProperty("ts") long ts,
            @JsonProperty("mono_us") long monoUs,
            @JsonProperty("co_partition") long coPartition,
            @JsonProperty("co_epoch") long coEpoch,
            @JsonProperty("log_offset") Long logOffset,
            @JsonProperty("group_id") String groupId,
            @JsonProperty("group_type") String groupType,
            @JsonProperty("protocol_type") String protocolType,
            @JsonProperty("protocol") String protocol,
            @JsonProperty("kind") EventKind kind,
            @JsonProperty("rebalance_id") String rebalanceId,
            @JsonProperty("state_from") String stateFrom,
            @JsonProperty("state_to") String stateTo,
            @JsonProperty("generation") Long generation,
            @JsonProperty("member_id") String memberId,
            @JsonProperty("instance_id") String instanceId,
            @JsonProperty("client_id") String clientId,
            @JsonProperty("client_host") String clientHost,
            @JsonProperty("client_software") String clientSoftware,
            @JsonProperty("member_epoch") Long memberEpoch,
            @JsonProperty("cause") Cause cause,
            @JsonProperty("client_reason") String clientReason,
            @JsonProperty("error") String error,
            @JsonProperty("duration_us") Long durationUs,
            @JsonProperty("waited_for") List<String> waitedFor,
            @JsonProperty("members") Long members,
            @JsonProperty("joined") List<String> joined,
            @JsonProperty("left") List<String> left,
            @JsonProperty("evicted") List<String> evicted,
            @JsonProperty("session_timeout_ms") Long sessionTimeoutMs,
            @JsonProperty("rebalance_timeout_ms") Long rebalanceTimeoutMs,
            @JsonProperty("partitions") Long partitions,
            @JsonProperty("detail") Map<String, String> detail) {
    }

    /**
     * A member that is to fall silent.
     * @param member a member id, an instance id or a client id; null: all of them
     * @param instance a group.instance.id
     */
    public record Freeze(
            @JsonProperty("group") String group,
            @JsonProperty("member") String member,
            @JsonProperty("instance") String instance,
            @JsonProperty("client_id") String clientId) {
        public Freeze(String group) {
            this(group, null, null, null);
        }

        public Freeze member(String member) {
            return new Freeze(group, member, instance, clientId);
        }

        public Freeze instance(String instance) {
            return new Freeze(group, member, instance, clientId);
        }

        public Freeze clientId(String clientId) {
            return new Freeze(group, member, instance, clientId);
        }
    }

    /**
     * A gate that holds.
     * @param group null: every group's requests
     */
    public record GateState(
            @JsonProperty("name") Gate name,
            @JsonProperty("group") String group,
            @JsonProperty("held") List<Waiting> held) {
    }

    /**
     * A group that something has happened to lately.
     * @param type classic or consumer
     * @param members how many
     * @param sinceMs for how long its rebalance has been going on; null: it is in none
     * @param marks its rebalances of the last ten minutes, the newest last
     */
    public record GlanceOverview(
            @JsonProperty("id") String id,
            @JsonProperty("type") String type,
            @JsonProperty("state") String state,
            @JsonProperty("members") long members,
            @JsonProperty("waits") List<WaitOverview> waits,
            @JsonProperty("since_ms") Long sinceMs,
            @JsonProperty("marks") List<MarkOverview> marks) {
    }

    /**
     * A group, whom it waits for, and what happened to it last.
     * @param type classic or consumer
     * @param generation of a consumer group the group epoch
     * @param rebalances the last ones, the newest last
     * @param lags by topic and partition, where something is committed
     */
    public record GroupOverview(
            @JsonProperty("id") String id,
            @JsonProperty("type") String type,
            @JsonProperty("state") String state,
            @JsonProperty("generation") long generation,
            @JsonProperty("assignment_epoch") long assignmentEpoch,
            @JsonProperty("protocol") String protocol,
            @JsonProperty("coordinator") Long coordinator,
            @JsonProperty("members") List<MemberOverview> members,
            @JsonProperty("waits") List<WaitOverview> waits,
            @JsonProperty("rebalances") List<RebalanceOverview> rebalances,
            @JsonProperty("lags") Map<String, Map<String, Long>> lags) {
    }

    /**
     * A group.
     * @param type classic or consumer; empty where there is no group
     * @param generation of a consumer group the group epoch
     * @param assignmentEpoch the epoch that the target assignment is for; else the generation
     * @param protocol the assignor
     * @param coordinator the node that looks after it
     * @param offsets what is committed, by `topic-partition`
     * @param lag how many offsets are still to be committed, by `topic-partition`
     */
    public record GroupState(
            @JsonProperty("id") String id,
            @JsonProperty("type") GroupType type,
            @JsonProperty("state") State state,
            @JsonProperty("generation") long generation,
            @JsonProperty("assignment_epoch") long assignmentEpoch,
            @JsonProperty("protocol") String protocol,
            @JsonProperty("migration") MigrationState migration,
            @JsonProperty("coordinator") Long coordinator,
            @JsonProperty("members") List<MemberState> members,
            @JsonProperty("offsets") Map<String, Long> offsets,
            @JsonProperty("lag") Map<String, Long> lag) {
    }

    /**
     * A group in a list.
     * @param type classic or consumer
     * @param generation of a consumer group the group epoch
     * @param members how many
     */
    public record GroupSummary(
            @JsonProperty("id") String id,
            @JsonProperty("type") String type,
            @JsonProperty("state") String state,
            @JsonProperty("generation") long generation,
            @JsonProperty("members") long members) {
    }

    /**
     * A header of a record; a name may come twice.
     */
    public record HeaderState(
            @JsonProperty("name") String name,
            @JsonProperty("value") Bytes value) {
    }

    /**
     * What to hold.
     */
    public record Hold(
            @JsonProperty("name") Gate name,
            @JsonProperty("group") String group) {
        public Hold(Gate name) {
            this(name, null);
        }

        public Hold group(String group) {
            return new Hold(name, group);
        }
    }

    /**
     * How far it is to jump.
     * @param expireTheLiving also let the sessions end of members whose connection is open and whom no fault silences
     * @param patience real seconds that the jump halts at most where a group waits for a live member; 0: it never does
     */
    public record Jump(
            @JsonProperty("seconds") double seconds,
            @JsonProperty("expire_the_living") Boolean expireTheLiving,
            @JsonProperty("patience") Double patience) {
        public Jump(double seconds) {
            this(seconds, null, null);
        }

        public Jump expireTheLiving(boolean expireTheLiving) {
            return new Jump(seconds, expireTheLiving, patience);
        }

        public Jump patience(double patience) {
            return new Jump(seconds, expireTheLiving, patience);
        }
    }

    /**
     * One partition, and who leads it.
     * @param leader null: all nodes that have a copy are stopped
     * @param replicas the preferred leader first
     */
    public record Leader(
            @JsonProperty("topic") String topic,
            @JsonProperty("partition") long partition,
            @JsonProperty("leader") Long leader,
            @JsonProperty("leader_epoch") long leaderEpoch,
            @JsonProperty("replicas") List<Long> replicas,
            @JsonProperty("in_sync") List<Long> inSync) {
    }

    /**
     * What a test has left behind.
     * @param gates gates that were still held, and who waited there; they are open now
     * @param violations what has happened since the last time that must never happen
     * @param groups with `data`: groups that still have members, and so stay
     */
    public record Left(
            @JsonProperty("gates") List<String> gates,
            @JsonProperty("violations") List<String> violations,
            @JsonProperty("groups") List<String> groups) {
    }

    /**
     * A rebalance on the axis of time.
     * @param tookMs null: it is not over
     * @param laggard who was waited for last
     */
    public record MarkOverview(
            @JsonProperty("began_ms_ago") long beganMsAgo,
            @JsonProperty("took_ms") Double tookMs,
            @JsonProperty("cause") String cause,
            @JsonProperty("laggard") String laggard) {
    }

    /**
     * A member.
     * @param waitsFor join, sync, partitions, or nothing
     * @param speaks classic or consumer
     * @param epoch in a consumer group its member epoch, in a classic one the generation
     * @param target what it is to have; in a classic group what it has
     * @param revoking what it is to give up and has not yet
     * @param sessionEndsInMs null: not while its request waits
     * @param partitions by topic
     */
    public record MemberOverview(
            @JsonProperty("member_id") String memberId,
            @JsonProperty("instance_id") String instanceId,
            @JsonProperty("client_id") String clientId,
            @JsonProperty("client_host") String clientHost,
            @JsonProperty("waits_for") String waitsFor,
            @JsonProperty("is_alive") boolean isAlive,
            @JsonProperty("speaks") String speaks,
            @JsonProperty("epoch") long epoch,
            @JsonProperty("target") Map<String, List<Long>> target,
            @JsonProperty("revoking") Map<String, List<Long>> revoking,
            @JsonProperty("session_ends_in_ms") Long sessionEndsInMs,
            @JsonProperty("partitions") Map<String, List<Long>> partitions) {
    }

    /**
     * A member.
     * @param isAlive its connection is open, and no fault keeps it silent
     * @param waitsFor join, sync, partitions that others still have, or nothing
     * @param partitions by topic
     * @param speaks a consumer group may have members of both protocols
     * @param epoch in a consumer group its member epoch, in a classic one the generation
     * @param state in a consumer group Stable, UnrevokedPartitions or UnreleasedPartitions
     * @param target what it is to have; in a classic group what it has
     * @param revoking what it is to give up and has not yet
     * @param topics the names that it subscribes to
     * @param assignor the server-side assignor that it votes for
     * @param sessionEndsInMs null: not while its request waits
     * @param revocationEndsInMs when it is removed if it gives up nothing
     */
    public record MemberState(
            @JsonProperty("member_id") String memberId,
            @JsonProperty("instance_id") String instanceId,
            @JsonProperty("client_id") String clientId,
            @JsonProperty("client_host") String clientHost,
            @JsonProperty("session_timeout_ms") long sessionTimeoutMs,
            @JsonProperty("rebalance_timeout_ms") long rebalanceTimeoutMs,
            @JsonProperty("is_leader") boolean isLeader,
            @JsonProperty("is_alive") boolean isAlive,
            @JsonProperty("waits_for") String waitsFor,
            @JsonProperty("partitions") Map<String, List<Long>> partitions,
            @JsonProperty("speaks") Protocol speaks,
            @JsonProperty("epoch") long epoch,
            @JsonProperty("state") String state,
            @JsonProperty("target") Map<String, List<Long>> target,
            @JsonProperty("revoking") Map<String, List<Long>> revoking,
            @JsonProperty("topics") List<String> topics,
            @JsonProperty("topic_regex") String topicRegex,
            @JsonProperty("assignor") String assignor,
            @JsonProperty("session_ends_in_ms") Long sessionEndsInMs,
            @JsonProperty("revocation_ends_in_ms") Long revocationEndsInMs) {
    }

    /**
     * How far a group is between the classic and the consumer protocol.
     */
    public record MigrationState(
            @JsonProperty("protocol") String protocol,
            @JsonProperty("classic_members") long classicMembers,
            @JsonProperty("consumer_members") long consumerMembers) {
    }

    /**
     * How far a topic is to grow.
     * @param partitions how many there are then
     */
    public record MorePartitions(
            @JsonProperty("partitions") long partitions) {
    }

    /**
     * Who may do, or may not do, what: about one topic, group or transactional id, or the cluster.
     * @param principal User:* is everybody
     * @param operation as Kafka calls it
     * @param topic * is every one
     * @param host an address as text; * is any
     * @param prefixed whether it is about all whose name begins so
     */
    public record NewAcl(
            @JsonProperty("permission") AclPermission permission,
            @JsonProperty("principal") String principal,
            @JsonProperty("operation") String operation,
            @JsonProperty("topic") String topic,
            @JsonProperty("group") String group,
            @JsonProperty("transactional_id") String transactionalId,
            @JsonProperty("cluster") Boolean cluster,
            @JsonProperty("host") String host,
            @JsonProperty("prefixed") Boolean prefixed) {
        public NewAcl(String principal) {
            this(null, principal, null, null, null, null, null, null, null);
        }

        public NewAcl permission(AclPermission permission) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl operation(String operation) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl topic(String topic) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl group(String group) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl transactionalId(String transactionalId) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl cluster(boolean cluster) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl host(String host) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }

        public NewAcl prefixed(boolean prefixed) {
            return new NewAcl(permission, principal, operation, topic, group, transactionalId, cluster, host, prefixed);
        }
    }

    /**
     * Which appends, what happens to them, and when.
     * @param kind a group with its assignment, or offsets; null: both
     * @param group may hold * and ?; null: every group's
     * @param do_ hold, delay: it is written, and the coordinator hears of it later; fail: it is not written
     * @param seconds of a delay, by the brokers' clock
     * @param error of a failure: what the storage says, by Kafka's name
     * @param times so often and no more
     * @param nth from the n-th append on; alone: that one only
     */
    public record NewAppendRule(
            @JsonProperty("kind") NewAppendRuleKind kind,
            @JsonProperty("group") String group,
            @JsonProperty("do") NewAppendRuleDo do_,
            @JsonProperty("seconds") Double seconds,
            @JsonProperty("error") String error,
            @JsonProperty("times") Long times,
            @JsonProperty("nth") Long nth,
            @JsonProperty("probability") Double probability) {
        public NewAppendRule(NewAppendRuleDo do_) {
            this(null, null, do_, null, null, null, null, null);
        }

        public NewAppendRule kind(NewAppendRuleKind kind) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }

        public NewAppendRule group(String group) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }

        public NewAppendRule seconds(double seconds) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }

        public NewAppendRule error(String error) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }

        public NewAppendRule times(long times) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }

        public NewAppendRule nth(long nth) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }

        public NewAppendRule probability(double probability) {
            return new NewAppendRule(kind, group, do_, seconds, error, times, nth, probability);
        }
    }

    /**
     * Where the coordinator is to go.
     */
    public record NewCoordinator(
            @JsonProperty("node") long node) {
    }

    /**
     * Where a leadership is to go.
     * @param node the node that is to lead from now on
     */
    public record NewLeader(
            @JsonProperty("node") long node) {
    }

    /**
     * What is to be committed.
     * @param offsets by `topic-partition`
     */
    public record NewOffsets(
            @JsonProperty("offsets") Map<String, Long> offsets) {
    }

    /**
     * Records of one batch.
     * @param values null: a tombstone
     * @param key of all of them
     * @param headers of all of them
     */
    public record NewRecords(
            @JsonProperty("values") List<String> values,
            @JsonProperty("key") String key,
            @JsonProperty("headers") Map<String, String> headers,
            @JsonProperty("partition") Long partition) {
        public NewRecords(List<String> values) {
            this(values, null, null, null);
        }

        public NewRecords key(String key) {
            return new NewRecords(values, key, headers, partition);
        }

        public NewRecords headers(Map<String, String> headers) {
            return new NewRecords(values, key, headers, partition);
        }

        public NewRecords partition(long partition) {
            return new NewRecords(values, key, headers, partition);
        }
    }

    /**
     * Which requests, what happens to them, and when.
     * @param match conditions, all of which must hold; none: any request
     * @param with_ what `do` takes
     * @param times so often and no more
     * @param nth from the n-th matching request on; alone: that one only
     */
    public record NewRule(
            @JsonProperty("match") NewRuleMatch match,
            @JsonProperty("do") NewRuleDo do_,
            @JsonProperty("with") NewRuleWith with_,
            @JsonProperty("times") Long times,
            @JsonProperty("nth") Long nth,
            @JsonProperty("probability") Double probability) {
        public NewRule(NewRuleDo do_) {
            this(null, do_, null, null, null, null);
        }

        public NewRule match(NewRuleMatch match) {
            return new NewRule(match, do_, with_, times, nth, probability);
        }

        public NewRule with_(NewRuleWith with_) {
            return new NewRule(match, do_, with_, times, nth, probability);
        }

        public NewRule times(long times) {
            return new NewRule(match, do_, with_, times, nth, probability);
        }

        public NewRule nth(long nth) {
            return new NewRule(match, do_, with_, times, nth, probability);
        }

        public NewRule probability(double probability) {
            return new NewRule(match, do_, with_, times, nth, probability);
        }
    }

    /**
     * conditions, all of which must hold; none: any request
     * @param api Kafka's name: JoinGroup
     * @param version a number, or a range as in 3-5
     * @param node where it arrives
     * @param clientId of who asks; in all texts * and ? stand for anything
     * @param principal of who asks: User:alice, or User:ANONYMOUS without a login
     * @param group the one it is about
     * @param member a member id, an instance id or a client id
     * @param instance a group.instance.id
     * @param generation that the request names
     * @param state the group's when the request comes, as on the wire: CompletingRebalance
     */
    public record NewRuleMatch(
            @JsonProperty("api") ApiName api,
            @JsonProperty("version") String version,
            @JsonProperty("node") Long node,
            @JsonProperty("client_id") String clientId,
            @JsonProperty("principal") String principal,
            @JsonProperty("group") String group,
            @JsonProperty("member") String member,
            @JsonProperty("instance") String instance,
            @JsonProperty("generation") Long generation,
            @JsonProperty("state") WantedState state) {
        public NewRuleMatch() {
            this(null, null, null, null, null, null, null, null, null, null);
        }

        public NewRuleMatch api(ApiName api) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch version(String version) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch node(long node) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch clientId(String clientId) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch principal(String principal) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch group(String group) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch member(String member) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch instance(String instance) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch generation(long generation) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }

        public NewRuleMatch state(WantedState state) {
            return new NewRuleMatch(api, version, node, clientId, principal, group, member, instance, generation, state);
        }
    }

    /**
     * what `do` takes
     * @param name of an error, as Kafka calls it
     * @param length of truncate: how many bytes of the answer arrive
     * @param seconds of a delay, by the brokers' clock
     * @param jitter of a delay: up to so many seconds more
     * @param until of a delay: a group's state, a kind of group event, or a gate point
     * @param shares of assign: one of nothing, everything_to_everybody, garbage; or partitions by member id and topic
     * @param node of hide_node
     * @param release of as_kafka: one of 1.1, 2.4, 2.8, 3.4, 3.9, 4.3
     * @param operation of deny, as Kafka calls it: Read; All, if it is not said
     * @param topic of deny: a topic, or a pattern
     * @param group of deny: a group, or a pattern
     * @param transactionalId of deny: a transactional id, or a pattern
     * @param cluster of deny: the right on the cluster
     */
    public record NewRuleWith(
            @JsonProperty("name") KafkaError name,
            @JsonProperty("length") Long length,
            @JsonProperty("seconds") Double seconds,
            @JsonProperty("jitter") Double jitter,
            @JsonProperty("until") Until until,
            @JsonProperty("shares") Object shares,
            @JsonProperty("node") Long node,
            @JsonProperty("release") String release,
            @JsonProperty("operation") String operation,
            @JsonProperty("topic") String topic,
            @JsonProperty("group") String group,
            @JsonProperty("transactional_id") String transactionalId,
            @JsonProperty("cluster") Boolean cluster) {
        public NewRuleWith() {
            this(null, null, null, null, null, null, null, null, null, null, null, null, null);
        }

        public NewRuleWith name(KafkaError name) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith length(long length) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith seconds(double seconds) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith jitter(double jitter) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith until(Until until) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith shares(Object shares) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith node(long node) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith release(String release) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith operation(String operation) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith topic(String topic) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith group(String group) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith transactionalId(String transactionalId) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }

        public NewRuleWith cluster(boolean cluster) {
            return new NewRuleWith(name, length, seconds, jitter, until, shares, node, release, operation, topic, group, transactionalId, cluster);
        }
    }

    /**
     * A topic to be.
     * @param replicas how many nodes have a copy; null: as the brokers are set
     * @param configs by Kafka's names; all else has the cluster's default
     */
    public record NewTopic(
            @JsonProperty("name") String name,
            @JsonProperty("partitions") Long partitions,
            @JsonProperty("replicas") Long replicas,
            @JsonProperty("configs") Map<String, String> configs) {
        public NewTopic(String name) {
            this(name, null, null, null);
        }

        public NewTopic partitions(long partitions) {
            return new NewTopic(name, partitions, replicas, configs);
        }

        public NewTopic replicas(long replicas) {
            return new NewTopic(name, partitions, replicas, configs);
        }

        public NewTopic configs(Map<String, String> configs) {
            return new NewTopic(name, partitions, replicas, configs);
        }
    }

    /**
     * One node of the cluster.
     * @param port where it listens, or will again
     * @param partitions how many it leads
     * @param groups how many it coordinates
     */
    public record NodeState(
            @JsonProperty("id") long id,
            @JsonProperty("port") long port,
            @JsonProperty("running") boolean running,
            @JsonProperty("partitions") long partitions,
            @JsonProperty("groups") long groups) {
    }

    /**
     * A cluster at one look.
     * @param brokers how many run
     * @param rules faults at work
     * @param gates gates that hold, and who waits there
     */
    public record Overview(
            @JsonProperty("brokers") long brokers,
            @JsonProperty("now_ms") long nowMs,
            @JsonProperty("paused") boolean paused,
            @JsonProperty("scale") double scale,
            @JsonProperty("rules") List<String> rules,
            @JsonProperty("gates") List<String> gates,
            @JsonProperty("groups") List<GroupOverview> groups) {
    }

    /**
     * A partition's log.
     * @param endOffset what the next record gets
     */
    public record PartitionState(
            @JsonProperty("partition") long partition,
            @JsonProperty("start_offset") long startOffset,
            @JsonProperty("end_offset") long endOffset) {
    }

    /**
     * Why not.
     * @param detail one sentence that says what to do
     */
    public record Problem(
            @JsonProperty("detail") String detail) {
    }

    /**
     * A rebalance.
     * @param number counted from 0 in each group
     * @param outcome open, completed or superseded
     */
    public record RebalanceOverview(
            @JsonProperty("number") long number,
            @JsonProperty("generation") long generation,
            @JsonProperty("cause") String cause,
            @JsonProperty("actor") String actor,
            @JsonProperty("outcome") String outcome,
            @JsonProperty("prepare_ms") Double prepareMs,
            @JsonProperty("complete_ms") Double completeMs,
            @JsonProperty("laggard") String laggard,
            @JsonProperty("began_ms_ago") long beganMsAgo) {
    }

    /**
     * A rebalance.
     * @param laggard who was waited for last; in a consumer group for longest, to give up partitions
     * @param laggardMs for how long it was waited for
     * @param moved partitions that had an owner and were given another one
     * @param fewestMoves how few had to; null where members subscribe to different topics
     * @param unownedPartitionS for how long partitions were nobody's, all added up
     */
    public record RebalanceState(
            @JsonProperty("group_type") Protocol groupType,
            @JsonProperty("generation") long generation,
            @JsonProperty("cause") String cause,
            @JsonProperty("actor") String actor,
            @JsonProperty("outcome") Outcome outcome,
            @JsonProperty("prepare_ms") Double prepareMs,
            @JsonProperty("complete_ms") Double completeMs,
            @JsonProperty("joined") List<String> joined,
            @JsonProperty("left") List<String> left,
            @JsonProperty("evicted") List<String> evicted,
            @JsonProperty("laggard") String laggard,
            @JsonProperty("laggard_ms") Double laggardMs,
            @JsonProperty("members") long members,
            @JsonProperty("moved") Long moved,
            @JsonProperty("fewest_moves") Long fewestMoves,
            @JsonProperty("unowned_partition_s") double unownedPartitionS) {
    }

    /**
     * A record as it stands in a partition's log.
     * @param value null: a tombstone
     */
    public record RecordState(
            @JsonProperty("partition") long partition,
            @JsonProperty("offset") long offset,
            @JsonProperty("timestamp_ms") long timestampMs,
            @JsonProperty("key") Bytes key,
            @JsonProperty("value") Bytes value,
            @JsonProperty("headers") List<HeaderState> headers) {
    }

    /**
     * Whom to let through.
     * @param who a member id, instance id or client id, or a load's partition; null: everybody
     */
    public record Release(
            @JsonProperty("who") String who) {
        public Release() {
            this(null);
        }

        public Release who(String who) {
            return new Release(who);
        }
    }

    /**
     * Where a group is to go on.
     * @param to or an offset
     * @param topic in all its partitions; null: where the group has committed
     */
    public record Reset(
            @JsonProperty("to") Object to,
            @JsonProperty("topic") String topic) {
        public Reset() {
            this(null, null);
        }

        public Reset to(Object to) {
            return new Reset(to, topic);
        }

        public Reset topic(String topic) {
            return new Reset(to, topic);
        }
    }

    /**
     * A rule at work.
     * @param seen matching requests so far
     * @param acted on how many of them it has acted
     * @param exhausted it will never act again
     */
    public record RuleState(
            @JsonProperty("number") long number,
            @JsonProperty("text") String text,
            @JsonProperty("seen") long seen,
            @JsonProperty("acted") long acted,
            @JsonProperty("exhausted") boolean exhausted) {
    }

    /**
     * How it is to go on.
     * @param scale how many times as fast as the machine's; left out: as before
     */
    public record Run(
            @JsonProperty("scale") Double scale) {
        public Run() {
            this(null);
        }

        public Run scale(double scale) {
            return new Run(scale);
        }
    }

    /**
     * Where one may hold requests.
     */
    public record StopState(
            @JsonProperty("name") Gate name,
            @JsonProperty("about") String about) {
    }

    /**
     * A topic.
     * @param configs what was set for it
     */
    public record TopicState(
            @JsonProperty("name") String name,
            @JsonProperty("id") String id,
            @JsonProperty("internal") boolean internal,
            @JsonProperty("configs") Map<String, String> configs,
            @JsonProperty("partitions") List<PartitionState> partitions) {
    }

    /**
     * What a partition is to forget.
     * @param before records before this offset are deleted
     */
    public record Trim(
            @JsonProperty("before") long before,
            @JsonProperty("partition") Long partition) {
        public Trim(long before) {
            this(before, null);
        }

        public Trim partition(long partition) {
            return new Trim(before, partition);
        }
    }

    /**
     * Something that a group waits for.
     * @param forWhom nobody: it waits for time to go by
     * @param endsInMs when a timer ends it, on the brokers' clock; null: none does
     */
    public record WaitOverview(
            @JsonProperty("for_whom") List<String> forWhom,
            @JsonProperty("what") String what,
            @JsonProperty("ends_in_ms") Long endsInMs,
            @JsonProperty("then") String then) {
    }

    /**
     * A request that waits, or (at `offsets-loaded`) a load.
     * @param text what it is, in words
     */
    public record Waiting(
            @JsonProperty("text") String text,
            @JsonProperty("client_id") String clientId,
            @JsonProperty("member") String member,
            @JsonProperty("instance") String instance,
            @JsonProperty("group") String group) {
    }

    /** One of Kafka's or kohort's words. */
    public enum AclPermission {
        @JsonProperty("allow") ALLOW("allow"),
        @JsonProperty("deny") DENY("deny");

        private final String word;

        AclPermission(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum ApiName {
        @JsonProperty("*") ANY("*"),
        @JsonProperty("AddOffsetsToTxn") ADD_OFFSETS_TO_TXN("AddOffsetsToTxn"),
        @JsonProperty("AddPartitionsToTxn") ADD_PARTITIONS_TO_TXN("AddPartitionsToTxn"),
        @JsonProperty("AlterClientQuotas") ALTER_CLIENT_QUOTAS("AlterClientQuotas"),
        @JsonProperty("AlterConfigs") ALTER_CONFIGS("AlterConfigs"),
        @JsonProperty("AlterPartitionReassignments") ALTER_PARTITION_REASSIGNMENTS("AlterPartitionReassignments"),
        @JsonProperty("AlterReplicaLogDirs") ALTER_REPLICA_LOG_DIRS("AlterReplicaLogDirs"),
        @JsonProperty("AlterShareGroupOffsets") ALTER_SHARE_GROUP_OFFSETS("AlterShareGroupOffsets"),
        @JsonProperty("AlterUserScramCredentials") ALTER_USER_SCRAM_CREDENTIALS("AlterUserScramCredentials"),
        @JsonProperty("ApiVersions") API_VERSIONS("ApiVersions"),
        @JsonProperty("ConsumerGroupDescribe") CONSUMER_GROUP_DESCRIBE("ConsumerGroupDescribe"),
        @JsonProperty("ConsumerGroupHeartbeat") CONSUMER_GROUP_HEARTBEAT("ConsumerGroupHeartbeat"),
        @JsonProperty("CreateAcls") CREATE_ACLS("CreateAcls"),
        @JsonProperty("CreateDelegationToken") CREATE_DELEGATION_TOKEN("CreateDelegationToken"),
        @JsonProperty("CreatePartitions") CREATE_PARTITIONS("CreatePartitions"),
        @JsonProperty("CreateTopics") CREATE_TOPICS("CreateTopics"),
        @JsonProperty("DeleteAcls") DELETE_ACLS("DeleteAcls"),
        @JsonProperty("DeleteGroups") DELETE_GROUPS("DeleteGroups"),
        @JsonProperty("DeleteRecords") DELETE_RECORDS("DeleteRecords"),
        @JsonProperty("DeleteShareGroupOffsets") DELETE_SHARE_GROUP_OFFSETS("DeleteShareGroupOffsets"),
        @JsonProperty("DeleteShareGroupState") DELETE_SHARE_GROUP_STATE("DeleteShareGroupState"),
        @JsonProperty("DeleteTopics") DELETE_TOPICS("DeleteTopics"),
        @JsonProperty("DescribeAcls") DESCRIBE_ACLS("DescribeAcls"),
        @JsonProperty("DescribeClientQuotas") DESCRIBE_CLIENT_QUOTAS("DescribeClientQuotas"),
        @JsonProperty("DescribeCluster") DESCRIBE_CLUSTER("DescribeCluster"),
        @JsonProperty("DescribeConfigs") DESCRIBE_CONFIGS("DescribeConfigs"),
        @JsonProperty("DescribeDelegationToken") DESCRIBE_DELEGATION_TOKEN("DescribeDelegationToken"),
        @JsonProperty("DescribeGroups") DESCRIBE_GROUPS("DescribeGroups"),
        @JsonProperty("DescribeLogDirs") DESCRIBE_LOG_DIRS("DescribeLogDirs"),
        @JsonProperty("DescribeProducers") DESCRIBE_PRODUCERS("DescribeProducers"),
        @JsonProperty("DescribeQuorum") DESCRIBE_QUORUM("DescribeQuorum"),
        @JsonProperty("DescribeShareGroupOffsets") DESCRIBE_SHARE_GROUP_OFFSETS("DescribeShareGroupOffsets"),
        @JsonProperty("DescribeTopicPartitions") DESCRIBE_TOPIC_PARTITIONS("DescribeTopicPartitions"),
        @JsonProperty("DescribeTransactions") DESCRIBE_TRANSACTIONS("DescribeTransactions"),
        @JsonProperty("DescribeUserScramCredentials") DESCRIBE_USER_SCRAM_CREDENTIALS("DescribeUserScramCredentials"),
        @JsonProperty("ElectLeaders") ELECT_LEADERS("ElectLeaders"),
        @JsonProperty("EndTxn") END_TXN("EndTxn"),
        @JsonProperty("ExpireDelegationToken") EXPIRE_DELEGATION_TOKEN("ExpireDelegationToken"),
        @JsonProperty("Fetch") FETCH("Fetch"),
        @JsonProperty("FindCoordinator") FIND_COORDINATOR("FindCoordinator"),
        @JsonProperty("Heartbeat") HEARTBEAT("Heartbeat"),
        @JsonProperty("IncrementalAlterConfigs") INCREMENTAL_ALTER_CONFIGS("IncrementalAlterConfigs"),
        @JsonProperty("InitProducerId") INIT_PRODUCER_ID("InitProducerId"),
        @JsonProperty("InitializeShareGroupState") INITIALIZE_SHARE_GROUP_STATE("InitializeShareGroupState"),
        @JsonProperty("JoinGroup") JOIN_GROUP("JoinGroup"),
        @JsonProperty("LeaveGroup") LEAVE_GROUP("LeaveGroup"),
        @JsonProperty("ListConfigResources") LIST_CONFIG_RESOURCES("ListConfigResources"),
        @JsonProperty("ListGroups") LIST_GROUPS("ListGroups"),
        @JsonProperty("ListOffsets") LIST_OFFSETS("ListOffsets"),
        @JsonProperty("ListPartitionReassignments") LIST_PARTITION_REASSIGNMENTS("ListPartitionReassignments"),
        @JsonProperty("ListTransactions") LIST_TRANSACTIONS("ListTransactions"),
        @JsonProperty("Metadata") METADATA("Metadata"),
        @JsonProperty("OffsetCommit") OFFSET_COMMIT("OffsetCommit"),
        @JsonProperty("OffsetDelete") OFFSET_DELETE("OffsetDelete"),
        @JsonProperty("OffsetFetch") OFFSET_FETCH("OffsetFetch"),
        @JsonProperty("OffsetForLeaderEpoch") OFFSET_FOR_LEADER_EPOCH("OffsetForLeaderEpoch"),
        @JsonProperty("Produce") PRODUCE("Produce"),
        @JsonProperty("ReadShareGroupState") READ_SHARE_GROUP_STATE("ReadShareGroupState"),
        @JsonProperty("ReadShareGroupStateSummary") READ_SHARE_GROUP_STATE_SUMMARY("ReadShareGroupStateSummary"),
        @JsonProperty("RenewDelegationToken") RENEW_DELEGATION_TOKEN("RenewDelegationToken"),
        @JsonProperty("SaslAuthenticate") SASL_AUTHENTICATE("SaslAuthenticate"),
        @JsonProperty("SaslHandshake") SASL_HANDSHAKE("SaslHandshake"),
        @JsonProperty("ShareAcknowledge") SHARE_ACKNOWLEDGE("ShareAcknowledge"),
        @JsonProperty("ShareFetch") SHARE_FETCH("ShareFetch"),
        @JsonProperty("ShareGroupDescribe") SHARE_GROUP_DESCRIBE("ShareGroupDescribe"),
        @JsonProperty("ShareGroupHeartbeat") SHARE_GROUP_HEARTBEAT("ShareGroupHeartbeat"),
        @JsonProperty("SyncGroup") SYNC_GROUP("SyncGroup"),
        @JsonProperty("TxnOffsetCommit") TXN_OFFSET_COMMIT("TxnOffsetCommit"),
        @JsonProperty("UpdateFeatures") UPDATE_FEATURES("UpdateFeatures"),
        @JsonProperty("WriteShareGroupState") WRITE_SHARE_GROUP_STATE("WriteShareGroupState"),
        @JsonProperty("WriteTxnMarkers") WRITE_TXN_MARKERS("WriteTxnMarkers");

        private final String word;

        ApiName(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum Cause {
        @JsonProperty("all_joined") ALL_JOINED("all_joined"),
        @JsonProperty("assignment_store_failed") ASSIGNMENT_STORE_FAILED("assignment_store_failed"),
        @JsonProperty("assignment_stored") ASSIGNMENT_STORED("assignment_stored"),
        @JsonProperty("barrier_timeout") BARRIER_TIMEOUT("barrier_timeout"),
        @JsonProperty("cooperative_followup") COOPERATIVE_FOLLOWUP("cooperative_followup"),
        @JsonProperty("coordinator_failover") COORDINATOR_FAILOVER("coordinator_failover"),
        @JsonProperty("epoch_timeout") EPOCH_TIMEOUT("epoch_timeout"),
        @JsonProperty("group_deleted") GROUP_DELETED("group_deleted"),
        @JsonProperty("group_store_failed") GROUP_STORE_FAILED("group_store_failed"),
        @JsonProperty("join_new") JOIN_NEW("join_new"),
        @JsonProperty("join_static") JOIN_STATIC("join_static"),
        @JsonProperty("leave_admin") LEAVE_ADMIN("leave_admin"),
        @JsonProperty("leave_explicit") LEAVE_EXPLICIT("leave_explicit"),
        @JsonProperty("leave_poll_timeout") LEAVE_POLL_TIMEOUT("leave_poll_timeout"),
        @JsonProperty("metadata_changed") METADATA_CHANGED("metadata_changed"),
        @JsonProperty("new_member_join_timeout") NEW_MEMBER_JOIN_TIMEOUT("new_member_join_timeout"),
        @JsonProperty("nobody_left") NOBODY_LEFT("nobody_left"),
        @JsonProperty("over_capacity") OVER_CAPACITY("over_capacity"),
        @JsonProperty("protocol_migration") PROTOCOL_MIGRATION("protocol_migration"),
        @JsonProperty("regex_changed") REGEX_CHANGED("regex_changed"),
        @JsonProperty("rejoin_leader") REJOIN_LEADER("rejoin_leader"),
        @JsonProperty("session_expired") SESSION_EXPIRED("session_expired"),
        @JsonProperty("static_protocol_changed") STATIC_PROTOCOL_CHANGED("static_protocol_changed"),
        @JsonProperty("sync_timeout") SYNC_TIMEOUT("sync_timeout"),
        @JsonProperty("topic_metadata_changed") TOPIC_METADATA_CHANGED("topic_metadata_changed");

        private final String word;

        Cause(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum EventKind {
        @JsonProperty("access_denied") ACCESS_DENIED("access_denied"),
        @JsonProperty("assignment_received") ASSIGNMENT_RECEIVED("assignment_received"),
        @JsonProperty("assignment_stored") ASSIGNMENT_STORED("assignment_stored"),
        @JsonProperty("authentication_expired") AUTHENTICATION_EXPIRED("authentication_expired"),
        @JsonProperty("authentication_failed") AUTHENTICATION_FAILED("authentication_failed"),
        @JsonProperty("commit_rejected") COMMIT_REJECTED("commit_rejected"),
        @JsonProperty("commit_stats") COMMIT_STATS("commit_stats"),
        @JsonProperty("coordinator_elected") COORDINATOR_ELECTED("coordinator_elected"),
        @JsonProperty("coordinator_resigned") COORDINATOR_RESIGNED("coordinator_resigned"),
        @JsonProperty("epoch_bumped") EPOCH_BUMPED("epoch_bumped"),
        @JsonProperty("group_converted") GROUP_CONVERTED("group_converted"),
        @JsonProperty("group_created") GROUP_CREATED("group_created"),
        @JsonProperty("group_deleted") GROUP_DELETED("group_deleted"),
        @JsonProperty("group_loaded") GROUP_LOADED("group_loaded"),
        @JsonProperty("group_reconciled") GROUP_RECONCILED("group_reconciled"),
        @JsonProperty("group_unloaded") GROUP_UNLOADED("group_unloaded"),
        @JsonProperty("heartbeat_gap") HEARTBEAT_GAP("heartbeat_gap"),
        @JsonProperty("heartbeat_stats") HEARTBEAT_STATS("heartbeat_stats"),
        @JsonProperty("join_completed") JOIN_COMPLETED("join_completed"),
        @JsonProperty("join_progress") JOIN_PROGRESS("join_progress"),
        @JsonProperty("member_added") MEMBER_ADDED("member_added"),
        @JsonProperty("member_assigned") MEMBER_ASSIGNED("member_assigned"),
        @JsonProperty("member_fenced") MEMBER_FENCED("member_fenced"),
        @JsonProperty("member_id_issued") MEMBER_ID_ISSUED("member_id_issued"),
        @JsonProperty("member_metadata_changed") MEMBER_METADATA_CHANGED("member_metadata_changed"),
        @JsonProperty("member_reconciled") MEMBER_RECONCILED("member_reconciled"),
        @JsonProperty("member_rejoined") MEMBER_REJOINED("member_rejoined"),
        @JsonProperty("member_removed") MEMBER_REMOVED("member_removed"),
        @JsonProperty("member_replaced") MEMBER_REPLACED("member_replaced"),
        @JsonProperty("member_revoked") MEMBER_REVOKED("member_revoked"),
        @JsonProperty("member_revoking") MEMBER_REVOKING("member_revoking"),
        @JsonProperty("member_stepped_out") MEMBER_STEPPED_OUT("member_stepped_out"),
        @JsonProperty("member_synced") MEMBER_SYNCED("member_synced"),
        @JsonProperty("offsets_expired") OFFSETS_EXPIRED("offsets_expired"),
        @JsonProperty("rebalance_completed") REBALANCE_COMPLETED("rebalance_completed"),
        @JsonProperty("rebalance_started") REBALANCE_STARTED("rebalance_started"),
        @JsonProperty("rebalance_superseded") REBALANCE_SUPERSEDED("rebalance_superseded"),
        @JsonProperty("sync_timeout") SYNC_TIMEOUT("sync_timeout"),
        @JsonProperty("target_computed") TARGET_COMPUTED("target_computed");

        private final String word;

        EventKind(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum Gate {
        @JsonProperty("commit-answer") COMMIT_ANSWER("commit-answer"),
        @JsonProperty("commit-received") COMMIT_RECEIVED("commit-received"),
        @JsonProperty("consumer-heartbeat-answer") CONSUMER_HEARTBEAT_ANSWER("consumer-heartbeat-answer"),
        @JsonProperty("consumer-heartbeat-received") CONSUMER_HEARTBEAT_RECEIVED("consumer-heartbeat-received"),
        @JsonProperty("heartbeat-answer") HEARTBEAT_ANSWER("heartbeat-answer"),
        @JsonProperty("heartbeat-received") HEARTBEAT_RECEIVED("heartbeat-received"),
        @JsonProperty("join-complete") JOIN_COMPLETE("join-complete"),
        @JsonProperty("join-received") JOIN_RECEIVED("join-received"),
        @JsonProperty("leave-received") LEAVE_RECEIVED("leave-received"),
        @JsonProperty("offset-fetch-received") OFFSET_FETCH_RECEIVED("offset-fetch-received"),
        @JsonProperty("offsets-loaded") OFFSETS_LOADED("offsets-loaded"),
        @JsonProperty("sync-answer") SYNC_ANSWER("sync-answer"),
        @JsonProperty("sync-received") SYNC_RECEIVED("sync-received");

        private final String word;

        Gate(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum GroupType {
        @JsonProperty("") NONE(""),
        @JsonProperty("classic") CLASSIC("classic"),
        @JsonProperty("consumer") CONSUMER("consumer");

        private final String word;

        GroupType(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum KafkaError {
        @JsonProperty("BROKER_ID_NOT_REGISTERED") BROKER_ID_NOT_REGISTERED("BROKER_ID_NOT_REGISTERED"),
        @JsonProperty("BROKER_NOT_AVAILABLE") BROKER_NOT_AVAILABLE("BROKER_NOT_AVAILABLE"),
        @JsonProperty("CLUSTER_AUTHORIZATION_FAILED") CLUSTER_AUTHORIZATION_FAILED("CLUSTER_AUTHORIZATION_FAILED"),
        @JsonProperty("CONCURRENT_TRANSACTIONS") CONCURRENT_TRANSACTIONS("CONCURRENT_TRANSACTIONS"),
        @JsonProperty("COORDINATOR_LOAD_IN_PROGRESS") COORDINATOR_LOAD_IN_PROGRESS("COORDINATOR_LOAD_IN_PROGRESS"),
        @JsonProperty("COORDINATOR_NOT_AVAILABLE") COORDINATOR_NOT_AVAILABLE("COORDINATOR_NOT_AVAILABLE"),
        @JsonProperty("CORRUPT_MESSAGE") CORRUPT_MESSAGE("CORRUPT_MESSAGE"),
        @JsonProperty("DELEGATION_TOKEN_AUTHORIZATION_FAILED") DELEGATION_TOKEN_AUTHORIZATION_FAILED("DELEGATION_TOKEN_AUTHORIZATION_FAILED"),
        @JsonProperty("DELEGATION_TOKEN_AUTH_DISABLED") DELEGATION_TOKEN_AUTH_DISABLED("DELEGATION_TOKEN_AUTH_DISABLED"),
        @JsonProperty("DELEGATION_TOKEN_EXPIRED") DELEGATION_TOKEN_EXPIRED("DELEGATION_TOKEN_EXPIRED"),
        @JsonProperty("DELEGATION_TOKEN_NOT_FOUND") DELEGATION_TOKEN_NOT_FOUND("DELEGATION_TOKEN_NOT_FOUND"),
        @JsonProperty("DELEGATION_TOKEN_OWNER_MISMATCH") DELEGATION_TOKEN_OWNER_MISMATCH("DELEGATION_TOKEN_OWNER_MISMATCH"),
        @JsonProperty("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED") DELEGATION_TOKEN_REQUEST_NOT_ALLOWED("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
        @JsonProperty("DUPLICATE_BROKER_REGISTRATION") DUPLICATE_BROKER_REGISTRATION("DUPLICATE_BROKER_REGISTRATION"),
        @JsonProperty("DUPLICATE_RESOURCE") DUPLICATE_RESOURCE("DUPLICATE_RESOURCE"),
        @JsonProperty("DUPLICATE_SEQUENCE_NUMBER") DUPLICATE_SEQUENCE_NUMBER("DUPLICATE_SEQUENCE_NUMBER"),
        @JsonProperty("DUPLICATE_VOTER") DUPLICATE_VOTER("DUPLICATE_VOTER"),
        @JsonProperty("ELECTION_NOT_NEEDED") ELECTION_NOT_NEEDED("ELECTION_NOT_NEEDED"),
        @JsonProperty("ELIGIBLE_LEADERS_NOT_AVAILABLE") ELIGIBLE_LEADERS_NOT_AVAILABLE("ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        @JsonProperty("FEATURE_UPDATE_FAILED") FEATURE_UPDATE_FAILED("FEATURE_UPDATE_FAILED"),
        @JsonProperty("FENCED_INSTANCE_ID") FENCED_INSTANCE_ID("FENCED_INSTANCE_ID"),
        @JsonProperty("FENCED_LEADER_EPOCH") FENCED_LEADER_EPOCH("FENCED_LEADER_EPOCH"),
        @JsonProperty("FENCED_MEMBER_EPOCH") FENCED_MEMBER_EPOCH("FENCED_MEMBER_EPOCH"),
        @JsonProperty("FENCED_STATE_EPOCH") FENCED_STATE_EPOCH("FENCED_STATE_EPOCH"),
        @JsonProperty("FETCH_SESSION_ID_NOT_FOUND") FETCH_SESSION_ID_NOT_FOUND("FETCH_SESSION_ID_NOT_FOUND"),
        @JsonProperty("FETCH_SESSION_TOPIC_ID_ERROR") FETCH_SESSION_TOPIC_ID_ERROR("FETCH_SESSION_TOPIC_ID_ERROR"),
        @JsonProperty("GROUP_AUTHORIZATION_FAILED") GROUP_AUTHORIZATION_FAILED("GROUP_AUTHORIZATION_FAILED"),
        @JsonProperty("GROUP_ID_NOT_FOUND") GROUP_ID_NOT_FOUND("GROUP_ID_NOT_FOUND"),
        @JsonProperty("GROUP_MAX_SIZE_REACHED") GROUP_MAX_SIZE_REACHED("GROUP_MAX_SIZE_REACHED"),
        @JsonProperty("GROUP_SUBSCRIBED_TO_TOPIC") GROUP_SUBSCRIBED_TO_TOPIC("GROUP_SUBSCRIBED_TO_TOPIC"),
        @JsonProperty("ILLEGAL_GENERATION") ILLEGAL_GENERATION("ILLEGAL_GENERATION"),
        @JsonProperty("ILLEGAL_SASL_STATE") ILLEGAL_SASL_STATE("ILLEGAL_SASL_STATE"),
        @JsonProperty("INCONSISTENT_CLUSTER_ID") INCONSISTENT_CLUSTER_ID("INCONSISTENT_CLUSTER_ID"),
        @JsonProperty("INCONSISTENT_GROUP_PROTOCOL") INCONSISTENT_GROUP_PROTOCOL("INCONSISTENT_GROUP_PROTOCOL"),
        @JsonProperty("INCONSISTENT_TOPIC_ID") INCONSISTENT_TOPIC_ID("INCONSISTENT_TOPIC_ID"),
        @JsonProperty("INCONSISTENT_VOTER_SET") INCONSISTENT_VOTER_SET("INCONSISTENT_VOTER_SET"),
        @JsonProperty("INELIGIBLE_REPLICA") INELIGIBLE_REPLICA("INELIGIBLE_REPLICA"),
        @JsonProperty("INVALID_COMMIT_OFFSET_SIZE") INVALID_COMMIT_OFFSET_SIZE("INVALID_COMMIT_OFFSET_SIZE"),
        @JsonProperty("INVALID_CONFIG") INVALID_CONFIG("INVALID_CONFIG"),
        @JsonProperty("INVALID_FETCH_SESSION_EPOCH") INVALID_FETCH_SESSION_EPOCH("INVALID_FETCH_SESSION_EPOCH"),
        @JsonProperty("INVALID_FETCH_SIZE") INVALID_FETCH_SIZE("INVALID_FETCH_SIZE"),
        @JsonProperty("INVALID_GROUP_ID") INVALID_GROUP_ID("INVALID_GROUP_ID"),
        @JsonProperty("INVALID_PARTITIONS") INVALID_PARTITIONS("INVALID_PARTITIONS"),
        @JsonProperty("INVALID_PRINCIPAL_TYPE") INVALID_PRINCIPAL_TYPE("INVALID_PRINCIPAL_TYPE"),
        @JsonProperty("INVALID_PRODUCER_EPOCH") INVALID_PRODUCER_EPOCH("INVALID_PRODUCER_EPOCH"),
        @JsonProperty("INVALID_PRODUCER_ID_MAPPING") INVALID_PRODUCER_ID_MAPPING("INVALID_PRODUCER_ID_MAPPING"),
        @JsonProperty("INVALID_RECORD") INVALID_RECORD("INVALID_RECORD"),
        @JsonProperty("INVALID_RECORD_STATE") INVALID_RECORD_STATE("INVALID_RECORD_STATE"),
        @JsonProperty("INVALID_REGISTRATION") INVALID_REGISTRATION("INVALID_REGISTRATION"),
        @JsonProperty("INVALID_REGULAR_EXPRESSION") INVALID_REGULAR_EXPRESSION("INVALID_REGULAR_EXPRESSION"),
        @JsonProperty("INVALID_REPLICATION_FACTOR") INVALID_REPLICATION_FACTOR("INVALID_REPLICATION_FACTOR"),
        @JsonProperty("INVALID_REPLICA_ASSIGNMENT") INVALID_REPLICA_ASSIGNMENT("INVALID_REPLICA_ASSIGNMENT"),
        @JsonProperty("INVALID_REQUEST") INVALID_REQUEST("INVALID_REQUEST"),
        @JsonProperty("INVALID_REQUIRED_ACKS") INVALID_REQUIRED_ACKS("INVALID_REQUIRED_ACKS"),
        @JsonProperty("INVALID_SESSION_TIMEOUT") INVALID_SESSION_TIMEOUT("INVALID_SESSION_TIMEOUT"),
        @JsonProperty("INVALID_SHARE_SESSION_EPOCH") INVALID_SHARE_SESSION_EPOCH("INVALID_SHARE_SESSION_EPOCH"),
        @JsonProperty("INVALID_TIMESTAMP") INVALID_TIMESTAMP("INVALID_TIMESTAMP"),
        @JsonProperty("INVALID_TOPIC_EXCEPTION") INVALID_TOPIC_EXCEPTION("INVALID_TOPIC_EXCEPTION"),
        @JsonProperty("INVALID_TRANSACTION_TIMEOUT") INVALID_TRANSACTION_TIMEOUT("INVALID_TRANSACTION_TIMEOUT"),
        @JsonProperty("INVALID_TXN_STATE") INVALID_TXN_STATE("INVALID_TXN_STATE"),
        @JsonProperty("INVALID_UPDATE_VERSION") INVALID_UPDATE_VERSION("INVALID_UPDATE_VERSION"),
        @JsonProperty("INVALID_VOTER_KEY") INVALID_VOTER_KEY("INVALID_VOTER_KEY"),
        @JsonProperty("KAFKA_STORAGE_ERROR") KAFKA_STORAGE_ERROR("KAFKA_STORAGE_ERROR"),
        @JsonProperty("LEADER_NOT_AVAILABLE") LEADER_NOT_AVAILABLE("LEADER_NOT_AVAILABLE"),
        @JsonProperty("LISTENER_NOT_FOUND") LISTENER_NOT_FOUND("LISTENER_NOT_FOUND"),
        @JsonProperty("LOG_DIR_NOT_FOUND") LOG_DIR_NOT_FOUND("LOG_DIR_NOT_FOUND"),
        @JsonProperty("MEMBER_ID_REQUIRED") MEMBER_ID_REQUIRED("MEMBER_ID_REQUIRED"),
        @JsonProperty("MESSAGE_TOO_LARGE") MESSAGE_TOO_LARGE("MESSAGE_TOO_LARGE"),
        @JsonProperty("MISMATCHED_ENDPOINT_TYPE") MISMATCHED_ENDPOINT_TYPE("MISMATCHED_ENDPOINT_TYPE"),
        @JsonProperty("NETWORK_EXCEPTION") NETWORK_EXCEPTION("NETWORK_EXCEPTION"),
        @JsonProperty("NEW_LEADER_ELECTED") NEW_LEADER_ELECTED("NEW_LEADER_ELECTED"),
        @JsonProperty("NONE") NONE("NONE"),
        @JsonProperty("NON_EMPTY_GROUP") NON_EMPTY_GROUP("NON_EMPTY_GROUP"),
        @JsonProperty("NOT_CONTROLLER") NOT_CONTROLLER("NOT_CONTROLLER"),
        @JsonProperty("NOT_COORDINATOR") NOT_COORDINATOR("NOT_COORDINATOR"),
        @JsonProperty("NOT_ENOUGH_REPLICAS") NOT_ENOUGH_REPLICAS("NOT_ENOUGH_REPLICAS"),
        @JsonProperty("NOT_ENOUGH_REPLICAS_AFTER_APPEND") NOT_ENOUGH_REPLICAS_AFTER_APPEND("NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
        @JsonProperty("NOT_LEADER_OR_FOLLOWER") NOT_LEADER_OR_FOLLOWER("NOT_LEADER_OR_FOLLOWER"),
        @JsonProperty("NO_REASSIGNMENT_IN_PROGRESS") NO_REASSIGNMENT_IN_PROGRESS("NO_REASSIGNMENT_IN_PROGRESS"),
        @JsonProperty("OFFSET_METADATA_TOO_LARGE") OFFSET_METADATA_TOO_LARGE("OFFSET_METADATA_TOO_LARGE"),
        @JsonProperty("OFFSET_MOVED_TO_TIERED_STORAGE") OFFSET_MOVED_TO_TIERED_STORAGE("OFFSET_MOVED_TO_TIERED_STORAGE"),
        @JsonProperty("OFFSET_NOT_AVAILABLE") OFFSET_NOT_AVAILABLE("OFFSET_NOT_AVAILABLE"),
        @JsonProperty("OFFSET_OUT_OF_RANGE") OFFSET_OUT_OF_RANGE("OFFSET_OUT_OF_RANGE"),
        @JsonProperty("OPERATION_NOT_ATTEMPTED") OPERATION_NOT_ATTEMPTED("OPERATION_NOT_ATTEMPTED"),
        @JsonProperty("OUT_OF_ORDER_SEQUENCE_NUMBER") OUT_OF_ORDER_SEQUENCE_NUMBER("OUT_OF_ORDER_SEQUENCE_NUMBER"),
        @JsonProperty("POLICY_VIOLATION") POLICY_VIOLATION("POLICY_VIOLATION"),
        @JsonProperty("POSITION_OUT_OF_RANGE") POSITION_OUT_OF_RANGE("POSITION_OUT_OF_RANGE"),
        @JsonProperty("PREFERRED_LEADER_NOT_AVAILABLE") PREFERRED_LEADER_NOT_AVAILABLE("PREFERRED_LEADER_NOT_AVAILABLE"),
        @JsonProperty("PRINCIPAL_DESERIALIZATION_FAILURE") PRINCIPAL_DESERIALIZATION_FAILURE("PRINCIPAL_DESERIALIZATION_FAILURE"),
        @JsonProperty("PRODUCER_FENCED") PRODUCER_FENCED("PRODUCER_FENCED"),
        @JsonProperty("REASSIGNMENT_IN_PROGRESS") REASSIGNMENT_IN_PROGRESS("REASSIGNMENT_IN_PROGRESS"),
        @JsonProperty("REBALANCE_IN_PROGRESS") REBALANCE_IN_PROGRESS("REBALANCE_IN_PROGRESS"),
        @JsonProperty("REBOOTSTRAP_REQUIRED") REBOOTSTRAP_REQUIRED("REBOOTSTRAP_REQUIRED"),
        @JsonProperty("RECORD_LIST_TOO_LARGE") RECORD_LIST_TOO_LARGE("RECORD_LIST_TOO_LARGE"),
        @JsonProperty("REPLICA_NOT_AVAILABLE") REPLICA_NOT_AVAILABLE("REPLICA_NOT_AVAILABLE"),
        @JsonProperty("REQUEST_TIMED_OUT") REQUEST_TIMED_OUT("REQUEST_TIMED_OUT"),
        @JsonProperty("RESOURCE_NOT_FOUND") RESOURCE_NOT_FOUND("RESOURCE_NOT_FOUND"),
        @JsonProperty("SASL_AUTHENTICATION_FAILED") SASL_AUTHENTICATION_FAILED("SASL_AUTHENTICATION_FAILED"),
        @JsonProperty("SECURITY_DISABLED") SECURITY_DISABLED("SECURITY_DISABLED"),
        @JsonProperty("SHARE_SESSION_LIMIT_REACHED") SHARE_SESSION_LIMIT_REACHED("SHARE_SESSION_LIMIT_REACHED"),
        @JsonProperty("SHARE_SESSION_NOT_FOUND") SHARE_SESSION_NOT_FOUND("SHARE_SESSION_NOT_FOUND"),
        @JsonProperty("SNAPSHOT_NOT_FOUND") SNAPSHOT_NOT_FOUND("SNAPSHOT_NOT_FOUND"),
        @JsonProperty("STALE_BROKER_EPOCH") STALE_BROKER_EPOCH("STALE_BROKER_EPOCH"),
        @JsonProperty("STALE_CONTROLLER_EPOCH") STALE_CONTROLLER_EPOCH("STALE_CONTROLLER_EPOCH"),
        @JsonProperty("STALE_MEMBER_EPOCH") STALE_MEMBER_EPOCH("STALE_MEMBER_EPOCH"),
        @JsonProperty("STREAMS_INVALID_TOPOLOGY") STREAMS_INVALID_TOPOLOGY("STREAMS_INVALID_TOPOLOGY"),
        @JsonProperty("STREAMS_INVALID_TOPOLOGY_EPOCH") STREAMS_INVALID_TOPOLOGY_EPOCH("STREAMS_INVALID_TOPOLOGY_EPOCH"),
        @JsonProperty("STREAMS_TOPOLOGY_FENCED") STREAMS_TOPOLOGY_FENCED("STREAMS_TOPOLOGY_FENCED"),
        @JsonProperty("TELEMETRY_TOO_LARGE") TELEMETRY_TOO_LARGE("TELEMETRY_TOO_LARGE"),
        @JsonProperty("THROTTLING_QUOTA_EXCEEDED") THROTTLING_QUOTA_EXCEEDED("THROTTLING_QUOTA_EXCEEDED"),
        @JsonProperty("TOPIC_ALREADY_EXISTS") TOPIC_ALREADY_EXISTS("TOPIC_ALREADY_EXISTS"),
        @JsonProperty("TOPIC_AUTHORIZATION_FAILED") TOPIC_AUTHORIZATION_FAILED("TOPIC_AUTHORIZATION_FAILED"),
        @JsonProperty("TOPIC_DELETION_DISABLED") TOPIC_DELETION_DISABLED("TOPIC_DELETION_DISABLED"),
        @JsonProperty("TRANSACTIONAL_ID_AUTHORIZATION_FAILED") TRANSACTIONAL_ID_AUTHORIZATION_FAILED("TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        @JsonProperty("TRANSACTIONAL_ID_NOT_FOUND") TRANSACTIONAL_ID_NOT_FOUND("TRANSACTIONAL_ID_NOT_FOUND"),
        @JsonProperty("TRANSACTION_ABORTABLE") TRANSACTION_ABORTABLE("TRANSACTION_ABORTABLE"),
        @JsonProperty("TRANSACTION_COORDINATOR_FENCED") TRANSACTION_COORDINATOR_FENCED("TRANSACTION_COORDINATOR_FENCED"),
        @JsonProperty("UNACCEPTABLE_CREDENTIAL") UNACCEPTABLE_CREDENTIAL("UNACCEPTABLE_CREDENTIAL"),
        @JsonProperty("UNKNOWN_CONTROLLER_ID") UNKNOWN_CONTROLLER_ID("UNKNOWN_CONTROLLER_ID"),
        @JsonProperty("UNKNOWN_LEADER_EPOCH") UNKNOWN_LEADER_EPOCH("UNKNOWN_LEADER_EPOCH"),
        @JsonProperty("UNKNOWN_MEMBER_ID") UNKNOWN_MEMBER_ID("UNKNOWN_MEMBER_ID"),
        @JsonProperty("UNKNOWN_PRODUCER_ID") UNKNOWN_PRODUCER_ID("UNKNOWN_PRODUCER_ID"),
        @JsonProperty("UNKNOWN_SERVER_ERROR") UNKNOWN_SERVER_ERROR("UNKNOWN_SERVER_ERROR"),
        @JsonProperty("UNKNOWN_SUBSCRIPTION_ID") UNKNOWN_SUBSCRIPTION_ID("UNKNOWN_SUBSCRIPTION_ID"),
        @JsonProperty("UNKNOWN_TOPIC_ID") UNKNOWN_TOPIC_ID("UNKNOWN_TOPIC_ID"),
        @JsonProperty("UNKNOWN_TOPIC_OR_PARTITION") UNKNOWN_TOPIC_OR_PARTITION("UNKNOWN_TOPIC_OR_PARTITION"),
        @JsonProperty("UNRELEASED_INSTANCE_ID") UNRELEASED_INSTANCE_ID("UNRELEASED_INSTANCE_ID"),
        @JsonProperty("UNSTABLE_OFFSET_COMMIT") UNSTABLE_OFFSET_COMMIT("UNSTABLE_OFFSET_COMMIT"),
        @JsonProperty("UNSUPPORTED_ASSIGNOR") UNSUPPORTED_ASSIGNOR("UNSUPPORTED_ASSIGNOR"),
        @JsonProperty("UNSUPPORTED_COMPRESSION_TYPE") UNSUPPORTED_COMPRESSION_TYPE("UNSUPPORTED_COMPRESSION_TYPE"),
        @JsonProperty("UNSUPPORTED_ENDPOINT_TYPE") UNSUPPORTED_ENDPOINT_TYPE("UNSUPPORTED_ENDPOINT_TYPE"),
        @JsonProperty("UNSUPPORTED_FOR_MESSAGE_FORMAT") UNSUPPORTED_FOR_MESSAGE_FORMAT("UNSUPPORTED_FOR_MESSAGE_FORMAT"),
        @JsonProperty("UNSUPPORTED_SASL_MECHANISM") UNSUPPORTED_SASL_MECHANISM("UNSUPPORTED_SASL_MECHANISM"),
        @JsonProperty("UNSUPPORTED_VERSION") UNSUPPORTED_VERSION("UNSUPPORTED_VERSION"),
        @JsonProperty("VOTER_NOT_FOUND") VOTER_NOT_FOUND("VOTER_NOT_FOUND");

        private final String word;

        KafkaError(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum NewAppendRuleDo {
        @JsonProperty("hold") HOLD("hold"),
        @JsonProperty("delay") DELAY("delay"),
        @JsonProperty("fail") FAIL("fail");

        private final String word;

        NewAppendRuleDo(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum NewAppendRuleKind {
        @JsonProperty("group") GROUP("group"),
        @JsonProperty("commit") COMMIT("commit");

        private final String word;

        NewAppendRuleKind(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum NewRuleDo {
        @JsonProperty("count") COUNT("count"),
        @JsonProperty("error") ERROR("error"),
        @JsonProperty("drop") DROP("drop"),
        @JsonProperty("hold") HOLD("hold"),
        @JsonProperty("lose_answer") LOSE_ANSWER("lose_answer"),
        @JsonProperty("close") CLOSE("close"),
        @JsonProperty("close_instead_of_answering") CLOSE_INSTEAD_OF_ANSWERING("close_instead_of_answering"),
        @JsonProperty("truncate") TRUNCATE("truncate"),
        @JsonProperty("delay") DELAY("delay"),
        @JsonProperty("delay_answer") DELAY_ANSWER("delay_answer"),
        @JsonProperty("assign") ASSIGN("assign"),
        @JsonProperty("deny") DENY("deny"),
        @JsonProperty("hide_node") HIDE_NODE("hide_node"),
        @JsonProperty("stale_metadata") STALE_METADATA("stale_metadata"),
        @JsonProperty("as_kafka") AS_KAFKA("as_kafka"),
        @JsonProperty("zombie") ZOMBIE("zombie");

        private final String word;

        NewRuleDo(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum Outcome {
        @JsonProperty("completed") COMPLETED("completed"),
        @JsonProperty("open") OPEN("open"),
        @JsonProperty("superseded") SUPERSEDED("superseded");

        private final String word;

        Outcome(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum Protocol {
        @JsonProperty("classic") CLASSIC("classic"),
        @JsonProperty("consumer") CONSUMER("consumer");

        private final String word;

        Protocol(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum ResetTo {
        @JsonProperty("earliest") EARLIEST("earliest"),
        @JsonProperty("latest") LATEST("latest");

        private final String word;

        ResetTo(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum ResourceType {
        @JsonProperty("cluster") CLUSTER("cluster"),
        @JsonProperty("delegation_token") DELEGATION_TOKEN("delegation_token"),
        @JsonProperty("group") GROUP("group"),
        @JsonProperty("topic") TOPIC("topic"),
        @JsonProperty("transactional_id") TRANSACTIONAL_ID("transactional_id"),
        @JsonProperty("user") USER("user");

        private final String word;

        ResourceType(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum State {
        @JsonProperty("Assigning") ASSIGNING("Assigning"),
        @JsonProperty("CompletingRebalance") COMPLETING_REBALANCE("CompletingRebalance"),
        @JsonProperty("Dead") DEAD("Dead"),
        @JsonProperty("Empty") EMPTY("Empty"),
        @JsonProperty("PreparingRebalance") PREPARING_REBALANCE("PreparingRebalance"),
        @JsonProperty("Reconciling") RECONCILING("Reconciling"),
        @JsonProperty("Stable") STABLE("Stable"),
        @JsonProperty("Unknown") UNKNOWN("Unknown");

        private final String word;

        State(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum Until {
        @JsonProperty("Assigning") ASSIGNING("Assigning"),
        @JsonProperty("CompletingRebalance") COMPLETING_REBALANCE("CompletingRebalance"),
        @JsonProperty("Dead") DEAD("Dead"),
        @JsonProperty("Empty") EMPTY("Empty"),
        @JsonProperty("PreparingRebalance") PREPARING_REBALANCE("PreparingRebalance"),
        @JsonProperty("Reconciling") RECONCILING("Reconciling"),
        @JsonProperty("Stable") STABLE("Stable"),
        @JsonProperty("access_denied") ACCESS_DENIED("access_denied"),
        @JsonProperty("assignment_received") ASSIGNMENT_RECEIVED("assignment_received"),
        @JsonProperty("assignment_stored") ASSIGNMENT_STORED("assignment_stored"),
        @JsonProperty("authentication_expired") AUTHENTICATION_EXPIRED("authentication_expired"),
        @JsonProperty("authentication_failed") AUTHENTICATION_FAILED("authentication_failed"),
        @JsonProperty("commit-answer") COMMIT_ANSWER("commit-answer"),
        @JsonProperty("commit-received") COMMIT_RECEIVED("commit-received"),
        @JsonProperty("commit_rejected") COMMIT_REJECTED("commit_rejected"),
        @JsonProperty("commit_stats") COMMIT_STATS("commit_stats"),
        @JsonProperty("consumer-heartbeat-answer") CONSUMER_HEARTBEAT_ANSWER("consumer-heartbeat-answer"),
        @JsonProperty("consumer-heartbeat-received") CONSUMER_HEARTBEAT_RECEIVED("consumer-heartbeat-received"),
        @JsonProperty("coordinator_elected") COORDINATOR_ELECTED("coordinator_elected"),
        @JsonProperty("coordinator_resigned") COORDINATOR_RESIGNED("coordinator_resigned"),
        @JsonProperty("epoch_bumped") EPOCH_BUMPED("epoch_bumped"),
        @JsonProperty("group_converted") GROUP_CONVERTED("group_converted"),
        @JsonProperty("group_created") GROUP_CREATED("group_created"),
        @JsonProperty("group_deleted") GROUP_DELETED("group_deleted"),
        @JsonProperty("group_loaded") GROUP_LOADED("group_loaded"),
        @JsonProperty("group_reconciled") GROUP_RECONCILED("group_reconciled"),
        @JsonProperty("group_unloaded") GROUP_UNLOADED("group_unloaded"),
        @JsonProperty("heartbeat-answer") HEARTBEAT_ANSWER("heartbeat-answer"),
        @JsonProperty("heartbeat-received") HEARTBEAT_RECEIVED("heartbeat-received"),
        @JsonProperty("heartbeat_gap") HEARTBEAT_GAP("heartbeat_gap"),
        @JsonProperty("heartbeat_stats") HEARTBEAT_STATS("heartbeat_stats"),
        @JsonProperty("join-complete") JOIN_COMPLETE("join-complete"),
        @JsonProperty("join-received") JOIN_RECEIVED("join-received"),
        @JsonProperty("join_completed") JOIN_COMPLETED("join_completed"),
        @JsonProperty("join_progress") JOIN_PROGRESS("join_progress"),
        @JsonProperty("leave-received") LEAVE_RECEIVED("leave-received"),
        @JsonProperty("member_added") MEMBER_ADDED("member_added"),
        @JsonProperty("member_assigned") MEMBER_ASSIGNED("member_assigned"),
        @JsonProperty("member_fenced") MEMBER_FENCED("member_fenced"),
        @JsonProperty("member_id_issued") MEMBER_ID_ISSUED("member_id_issued"),
        @JsonProperty("member_metadata_changed") MEMBER_METADATA_CHANGED("member_metadata_changed"),
        @JsonProperty("member_reconciled") MEMBER_RECONCILED("member_reconciled"),
        @JsonProperty("member_rejoined") MEMBER_REJOINED("member_rejoined"),
        @JsonProperty("member_removed") MEMBER_REMOVED("member_removed"),
        @JsonProperty("member_replaced") MEMBER_REPLACED("member_replaced"),
        @JsonProperty("member_revoked") MEMBER_REVOKED("member_revoked"),
        @JsonProperty("member_revoking") MEMBER_REVOKING("member_revoking"),
        @JsonProperty("member_stepped_out") MEMBER_STEPPED_OUT("member_stepped_out"),
        @JsonProperty("member_synced") MEMBER_SYNCED("member_synced"),
        @JsonProperty("offset-fetch-received") OFFSET_FETCH_RECEIVED("offset-fetch-received"),
        @JsonProperty("offsets-loaded") OFFSETS_LOADED("offsets-loaded"),
        @JsonProperty("offsets_expired") OFFSETS_EXPIRED("offsets_expired"),
        @JsonProperty("rebalance_completed") REBALANCE_COMPLETED("rebalance_completed"),
        @JsonProperty("rebalance_started") REBALANCE_STARTED("rebalance_started"),
        @JsonProperty("rebalance_superseded") REBALANCE_SUPERSEDED("rebalance_superseded"),
        @JsonProperty("sync-answer") SYNC_ANSWER("sync-answer"),
        @JsonProperty("sync-received") SYNC_RECEIVED("sync-received"),
        @JsonProperty("sync_timeout") SYNC_TIMEOUT("sync_timeout"),
        @JsonProperty("target_computed") TARGET_COMPUTED("target_computed");

        private final String word;

        Until(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum WaitsFor {
        @JsonProperty("join") JOIN("join"),
        @JsonProperty("sync") SYNC("sync"),
        @JsonProperty("partitions") PARTITIONS("partitions"),
        @JsonProperty("nothing") NOTHING("nothing");

        private final String word;

        WaitsFor(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }

    /** One of Kafka's or kohort's words. */
    public enum WantedState {
        @JsonProperty("Assigning") ASSIGNING("Assigning"),
        @JsonProperty("CompletingRebalance") COMPLETING_REBALANCE("CompletingRebalance"),
        @JsonProperty("Dead") DEAD("Dead"),
        @JsonProperty("Empty") EMPTY("Empty"),
        @JsonProperty("PreparingRebalance") PREPARING_REBALANCE("PreparingRebalance"),
        @JsonProperty("Reconciling") RECONCILING("Reconciling"),
        @JsonProperty("Stable") STABLE("Stable");

        private final String word;

        WantedState(String word) {
            this.word = word;
        }

        @Override
        public String toString() {
            return word;
        }
    }
}
