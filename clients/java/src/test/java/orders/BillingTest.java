package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import kohort.Bootstrap;
import kohort.Control;
import kohort.Control.Freeze;
import kohort.Control.GroupsWait;
import kohort.Control.Jump;
import kohort.Control.NewRecords;
import kohort.Control.NewTopic;
import kohort.KohortTest;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.Test;

@KohortTest
class BillingTest {
    @Test
    void whatIsReadIsCommitted(@Bootstrap String bootstrap, Control kafka) {
        kafka.topics.create(new NewTopic("orders"));
        kafka.topics.append("orders", new NewRecords(List.of("a", "b")));
        try (var consumer = consumer(bootstrap, "ada")) {
            int seen = 0;
            while (seen < 2) {
                seen += consumer.poll(Duration.ofMillis(100)).count();
            }
            consumer.commitSync();
        }
        assertEquals(Map.of("orders-0", 2L), kafka.groups.read("billing").offsets());
    }

    @Test
    void aCrashCostsASessionTimeout(@Bootstrap String bootstrap, Control kafka) throws InterruptedException {
        kafka.topics.create(new NewTopic("orders").partitions(6));
        try (var ada = new Polling(consumer(bootstrap, "ada")); var bob = new Polling(consumer(bootstrap, "bob"))) {
            kafka.groups.wait("billing", new GroupsWait().members(2).timeout(60));
            var frozen = kafka.faults.freeze(new Freeze("billing").member("bob"));
            kafka.clock.advance(new Jump(46));  // bob's session ends; ada rejoins with her next heartbeat
            kafka.groups.wait("billing", new GroupsWait().members(1).timeout(60));
            assertTrue(kafka.groups.history("billing").stream().anyMatch(each -> each.cause().equals("session expired")));
            kafka.faults.remove(frozen.number());
        }
    }

    private static KafkaConsumer<String, String> consumer(String bootstrap, String name) {
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", bootstrap,
                        "group.id", "billing",
                        "client.id", name,
                        "auto.offset.reset", "earliest",
                        "heartbeat.interval.ms", 100);
        var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("orders"));
        return consumer;
    }

    /** A service: it polls until it is closed. */
    private static final class Polling implements AutoCloseable {
        private final AtomicBoolean goesOn = new AtomicBoolean(true);
        private final Thread thread;

        Polling(KafkaConsumer<String, String> consumer) {
            thread =
                    new Thread(
                            () -> {
                                try (consumer) {
                                    while (goesOn.get()) {
                                        consumer.poll(Duration.ofMillis(100));
                                    }
                                }
                            });
            thread.start();
        }

        @Override
        public void close() throws InterruptedException {
            goesOn.set(false);
            thread.join();
        }
    }
}
