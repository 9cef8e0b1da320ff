package kohort;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import kohort.Control.Cause;
import kohort.Control.EventKind;
import kohort.Control.Gate;
import kohort.Control.GroupsWait;
import kohort.Control.Hold;
import kohort.Control.NewOffsets;
import kohort.Control.NewRecords;
import kohort.Control.NewRule;
import kohort.Control.NewRuleDo;
import kohort.Control.NewRuleMatch;
import kohort.Control.NewTopic;
import kohort.Control.Outcome;
import kohort.Control.State;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.platform.testkit.engine.EngineTestKit;

/** What a test class with the annotation gets. */
@KohortTest(nodes = 3, settings = "group.max.size=2")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KohortTestTest {
    @Test
    @Order(1)
    void aTopicAndAGroupOfTheFirstTest(Control kafka) {
        kafka.topics.create(new NewTopic("orders").partitions(2).configs(Map.of("retention.ms", "1000")));
        assertEquals(0, kafka.topics.append("orders", new NewRecords(List.of("a")).key("k").headers(Map.of("h", "1"))).offset());
        var record = kafka.topics.records("orders").get(0);
        assertEquals(List.of("k", "a", "h"), List.of(record.key().text(), record.value().text(), record.headers().get(0).name()));
        kafka.groups.commit("billing", new NewOffsets(Map.of("orders-0", 1L)));
        var group = kafka.groups.read("billing");
        assertEquals(State.EMPTY, group.state());
        assertEquals(Map.of("orders-0", 1L), group.offsets());
        kafka.faults.add(new NewRule(NewRuleDo.HOLD).match(new NewRuleMatch().group("billing").clientId("ada")).times(1));
        kafka.clock.pause();
    }

    @Test
    @Order(2)
    void areGoneInTheSecond(Kohort kohort, Control kafka) {
        assertEquals(List.of(), kafka.topics.list().stream().filter(each -> !each.internal()).toList());
        assertEquals(List.of(), kafka.groups.list());
        assertEquals(List.of(), kafka.faults.listRules());
        assertEquals(false, kafka.clock.read().paused());
        assertEquals(3, kohort.bootstrap().split(",").length);
    }

    @Test
    void refusalsSayWhatToDo(Control kafka) {
        var missing = assertThrows(Refused.class, () -> kafka.groups.read("nobody, ever"));
        assertEquals(404, missing.status());
        assertEquals("group nobody, ever does not exist or has no coordinator", missing.getMessage());
        var late = assertThrows(Refused.class, () -> kafka.groups.wait("nobody", new GroupsWait().timeout(0.01)));
        assertEquals(408, late.status());
    }

    @Test
    void eventsComeAsAStream(Control kafka) {
        kafka.groups.commit("billing", new NewOffsets(Map.of("__consumer_offsets-0", 0L)));
        try (var events = kafka.events.stream(new Control.EventsStream().group("billing").past(true))) {
            assertEquals(EventKind.GROUP_CREATED, events.findFirst().orElseThrow().kind());
        }
        assertEquals("session_expired", Cause.SESSION_EXPIRED.toString());
        assertEquals("open", Outcome.OPEN.toString());
        assertTrue(kafka.metrics.read().contains("kafka_coordinator_group"));
    }

    @Nested
    class InANestedClass {
        @Test
        void theBrokerIsThatOfTheClassAroundIt(@Bootstrap String bootstrap) {
            assertEquals(3, bootstrap.split(",").length);
        }
    }

    @Test
    void aFailingTestPrintsWhatHappened() {
        PrintStream before = System.err;
        var told = new ByteArrayOutputStream();
        System.setErr(new PrintStream(told, true));
        try {
            EngineTestKit.engine("junit-jupiter")
                    .selectors(selectClass(Sample.class))
                    .execute()
                    .testEvents()
                    .assertStatistics(each -> each.started(2).failed(2));
        } finally {
            System.setErr(before);
        }
        String text = told.toString();
        assertTrue(text.contains("kohort saw in fails(Control)"), text);
        assertTrue(text.contains("group billing (Empty"), text);
        assertTrue(text.contains("group created"), text);
    }

    @Test
    void aBrokerThatCannotStartSaysWhy() {
        var problem = assertThrows(IllegalStateException.class, () -> Kohort.start("--set", "group.max.syze=2"));
        assertTrue(problem.getMessage().contains("did you mean group.max.size"), problem.getMessage());
    }

    /** Fails on purpose; no name that Surefire looks for. */
    @KohortTest
    static class Sample {
        @Test
        void fails(Control kafka) {
            kafka.groups.commit("billing", new NewOffsets(Map.of("__consumer_offsets-0", 0L)));
            throw new AssertionError("as meant");
        }

        @Test
        void leavesAGateHeld(Control kafka) {
            kafka.gates.hold(new Hold(Gate.JOIN_COMPLETE));
            kafka.clock.pause();
        }
    }
}
