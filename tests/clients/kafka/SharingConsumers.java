import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Members of a share group that come and go, while somebody produces. They accept most records, release and reject some.
 *
 * Arguments: bootstrap, topic, group, acquire mode, how many records, how many members.
 * Says of each tenth of the records that it is done with; and at the end how many were, what it never heard of since a
 * connection ended, and how many were accepted twice, or delivered after they were done with.
 */
public final class SharingConsumers {
    private static final int PATIENCE_MS = 120_000;
    private static final int QUIET_MS = 4_000;
    private static final int STAY_MS = 2_000;
    private static final int OFTEN_ENOUGH = 4;

    private final String[] arguments;
    private final int records;
    private final Map<Integer, AtomicInteger> accepted = new ConcurrentHashMap<>();
    private final Set<Integer> rejected = ConcurrentHashMap.newKeySet();
    private final Set<Integer> unheard = ConcurrentHashMap.newKeySet();
    private final Set<Integer> late = ConcurrentHashMap.newKeySet();
    private volatile boolean over;
    private volatile long lastMs;

    private SharingConsumers(String[] arguments) {
        this.arguments = arguments;
        this.records = Integer.parseInt(arguments[4]);
    }

    public static void main(String[] arguments) throws Exception {
        SharingConsumers all = new SharingConsumers(arguments);
        List<Thread> threads = new ArrayList<>();
        threads.add(new Thread(all::produce));
        for (int number = 0; number < Integer.parseInt(arguments[5]); number++) {
            Random chance = new Random(number);
            threads.add(new Thread(() -> all.comeAndGo(chance)));
        }
        threads.forEach(Thread::start);
        long until = System.currentTimeMillis() + PATIENCE_MS;
        int tenths = 0;
        while ((all.done() < all.records || all.isBusy()) && System.currentTimeMillis() < until) {
            Thread.sleep(50);
            while (all.done() * 10L >= (tenths + 1L) * all.records) {
                System.out.println("done " + ++tenths + "/10");
            }
        }
        all.over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        long twice = all.accepted.values().stream().filter(times -> times.get() > 1).count();
        System.out.println("done " + all.done());
        System.out.println("unheard " + all.unheard.size());
        System.out.println("twice " + twice);
        System.out.println("late " + all.late.size());
    }

    private int done() {
        int unsure = (int) unheard.stream().filter(number -> !isDone(number)).count();
        return accepted.size() + rejected.size() + unsure;
    }

    private boolean isBusy() {
        return !unheard.isEmpty() && System.currentTimeMillis() < lastMs + QUIET_MS;
    }

    private boolean isDone(int number) {
        return accepted.containsKey(number) || rejected.contains(number);
    }

    private void produce() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < records; number++) {
                producer.send(new ProducerRecord<>(arguments[1], String.valueOf(number), String.valueOf(number)));
            }
        }
    }

    private void comeAndGo(Random chance) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[2]);
        settings.put("share.acquire.mode", arguments[3]);
        settings.put("share.acknowledgement.mode", "explicit");
        while (!over) {
            settings.put("max.poll.records", 20 + chance.nextInt(300));
            try (var consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(arguments[1]));
                long until = System.currentTimeMillis() + STAY_MS + chance.nextInt(STAY_MS);
                while (!over && System.currentTimeMillis() < until) {
                    look(consumer, chance);
                }
            }
        }
    }

    private void look(KafkaShareConsumer<String, String> consumer, Random chance) {
        ConsumerRecords<String, String> found = consumer.poll(Duration.ofMillis(300));
        if (!found.isEmpty()) {
            lastMs = System.currentTimeMillis();
        }
        List<Integer> fine = new ArrayList<>();
        List<Integer> bad = new ArrayList<>();
        for (ConsumerRecord<String, String> record : found) {
            int number = Integer.parseInt(record.value());
            if (isDone(number)) {
                late.add(number);
            }
            int thrown = chance.nextInt(100);
            if (thrown < 10 && record.deliveryCount().orElse((short) 1) < OFTEN_ENOUGH) {
                consumer.acknowledge(record, AcknowledgeType.RELEASE);
            } else if (thrown < 12) {
                consumer.acknowledge(record, AcknowledgeType.REJECT);
                bad.add(number);
            } else {
                consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                fine.add(number);
            }
        }
        var refused = consumer.commitSync().values().stream().filter(problem -> problem.isPresent()).toList();
        if (!refused.isEmpty()) {
            unheard.addAll(fine);
            unheard.addAll(bad);
            return;
        }
        fine.forEach(number -> accepted.computeIfAbsent(number, any -> new AtomicInteger()).incrementAndGet());
        rejected.addAll(bad);
    }
}
