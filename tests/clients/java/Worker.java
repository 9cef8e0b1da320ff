import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * A consumer as tests/clients/company.py talks to it: a part as JSON, orders on stdin, reports on stdout.
 *
 * One source for clients from 1.1 on: what came later is asked for by reflection.
 */
public final class Worker {
    private static final long POLL_MS = 100;
    private static final PrintStream REPORTS = System.out;
    private static volatile boolean stopping = false;

    public static void main(String[] arguments) throws Exception {
        String part = arguments[0];
        Properties settings = new Properties();
        settings.put("bootstrap.servers", text(part, "bootstrap"));
        settings.put("client.id", text(part, "name"));
        settings.put("group.id", text(part, "group"));
        settings.put("max.poll.interval.ms", number(part, "max_poll_interval_ms"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "true");
        settings.put("auto.commit.interval.ms", "200");
        settings.put("fetch.max.wait.ms", "100");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        if (text(part, "instance") != null) {
            settings.put("group.instance.id", text(part, "instance"));
        }
        if ("consumer".equals(text(part, "protocol"))) {
            settings.put("group.protocol", "consumer");
        } else {
            String assignor = part.contains("\"cooperative\": true") ? "CooperativeStickyAssignor" : "RangeAssignor";
            settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
            settings.put("session.timeout.ms", number(part, "session_timeout_ms"));
            settings.put("heartbeat.interval.ms", number(part, "heartbeat_interval_ms"));
        }
        report("[\"Ready\"]");
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        stopping = "stop".equals(orders.readLine());
        listen(orders);
        consume(new KafkaConsumer<byte[], byte[]>(settings), text(part, "topic"));
        report("[\"Closed\"]");
    }

    private static void listen(BufferedReader orders) {
        Thread listener = new Thread(() -> {
            try {
                String line;
                while ((line = orders.readLine()) != null) {
                    stopping |= line.equals("stop");
                }
            } catch (java.io.IOException gone) {
                // the same as an end: whoever started us is not there any more
            }
            if (!stopping) {
                Runtime.getRuntime().halt(3);
            }
        });
        listener.setDaemon(true);
        listener.start();
    }

    private static void consume(Consumer<byte[], byte[]> consumer, String topic) throws Exception {
        subscribe(consumer, topic);
        while (!stopping) {
            ConsumerRecords<byte[], byte[]> records = poll(consumer);
            if (!records.isEmpty()) {
                report(consumed(consumer, records));
            }
        }
        consumer.close();
    }

    private static void subscribe(Consumer<byte[], byte[]> consumer, String topic) throws Exception {
        if (!topic.startsWith("^")) {
            consumer.subscribe(Collections.singletonList(topic), new Callbacks());
            return;
        }
        Class<?> pattern = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern"); // from 4.0 on
        Method subscribe = Consumer.class.getMethod("subscribe", pattern, ConsumerRebalanceListener.class);
        subscribe.invoke(consumer, pattern.getConstructor(String.class).newInstance(topic), new Callbacks());
    }

    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(Consumer<byte[], byte[]> consumer) throws Exception {
        try {
            Method poll = Consumer.class.getMethod("poll", Duration.class);
            return (ConsumerRecords<byte[], byte[]>) poll.invoke(consumer, Duration.ofMillis(POLL_MS));
        } catch (NoSuchMethodException before20) {
            Method poll = Consumer.class.getMethod("poll", long.class);
            return (ConsumerRecords<byte[], byte[]>) poll.invoke(consumer, POLL_MS);
        }
    }

    private static String consumed(Consumer<byte[], byte[]> consumer, ConsumerRecords<byte[], byte[]> records)
            throws Exception {
        List<String> ranges = new ArrayList<>();
        for (TopicPartition partition : records.partitions()) {
            long first = -1;
            long last = -1;
            for (ConsumerRecord<byte[], byte[]> record : records.records(partition)) {
                if (first >= 0 && record.offset() != last + 1) {
                    ranges.add("[" + partition.partition() + ", " + first + ", " + last + "]");
                    first = -1;
                }
                first = first < 0 ? record.offset() : first;
                last = record.offset();
            }
            ranges.add("[" + partition.partition() + ", " + first + ", " + last + "]");
        }
        return "[\"Consumed\", " + now() + ", " + generation(consumer) + ", \"\", " + ranges + "]";
    }

    private static int generation(Consumer<byte[], byte[]> consumer) throws Exception {
        try {
            Object metadata = Consumer.class.getMethod("groupMetadata").invoke(consumer);
            return (Integer) metadata.getClass().getMethod("generationId").invoke(metadata);
        } catch (NoSuchMethodException before25) {
            return -1;
        }
    }

    private static synchronized void report(String line) {
        REPORTS.println(line);
        REPORTS.flush();
    }

    /** The wall clock in seconds, by which the reports of several processes compare. */
    private static String now() {
        Instant now = Instant.now();
        return String.format(Locale.ROOT, "%d.%06d", now.getEpochSecond(), now.getNano() / 1000);
    }

    private static String text(String part, String name) {
        Matcher found = Pattern.compile("\"" + name + "\": \"([^\"]*)\"").matcher(part);
        return found.find() ? found.group(1) : null;
    }

    private static String number(String part, String name) {
        Matcher found = Pattern.compile("\"" + name + "\": (\\d+)").matcher(part);
        if (!found.find()) {
            throw new IllegalArgumentException("no " + name + " in " + part);
        }
        return found.group(1);
    }

    private static final class Callbacks implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            tell("Owns", assigned);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            tell("Revoked", revoked);
        }

        private static void tell(String what, Collection<TopicPartition> partitions) {
            List<Integer> numbers = new ArrayList<>();
            for (TopicPartition each : partitions) {
                numbers.add(each.partition());
            }
            report("[\"" + what + "\", " + now() + ", " + numbers + "]");
        }
    }
}
