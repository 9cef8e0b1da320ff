//! A consumer with rdkafka, as tests/clients/company.py talks to it: a part as JSON, orders on stdin, reports on stdout.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::client::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::TopicPartitionList;
use serde::Deserialize;
use serde_json::{json, Value};

static STOPPING: AtomicBool = AtomicBool::new(false);

/// What this consumer is to be.
#[derive(Deserialize)]
struct Part {
    name: String,
    bootstrap: String,
    topic: String,
    group: String,
    instance: Option<String>,
    cooperative: bool,
    protocol: String,
    session_timeout_ms: u32,
    heartbeat_interval_ms: u32,
    max_poll_interval_ms: u32,
}

fn report(line: Value) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(3);
    }
}

/// The wall clock in seconds, by which the reports of several processes compare.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is right").as_secs_f64()
}

struct Callbacks;

impl Callbacks {
    fn tell(what: &str, list: &TopicPartitionList) {
        let partitions: Vec<i32> = list.elements().iter().map(|each| each.partition()).collect();
        report(json!([what, now(), partitions]));
    }
}

impl ClientContext for Callbacks {}

impl ConsumerContext for Callbacks {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(list) = rebalance {
            Self::tell("Revoked", list);
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(list) = rebalance {
            Self::tell("Owns", list);
        }
    }
}

fn listen() {
    for line in std::io::stdin().lock().lines() {
        match line.as_deref() {
            Ok("stop") => {
                STOPPING.store(true, Ordering::SeqCst);
                return;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    std::process::exit(3);
}

fn make(part: &Part) -> BaseConsumer<Callbacks> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &part.bootstrap)
        .set("client.id", &part.name)
        .set("group.id", &part.group)
        .set("group.protocol", &part.protocol)
        .set("max.poll.interval.ms", part.max_poll_interval_ms.to_string())
        .set("auto.offset.reset", "earliest")
        .set("auto.commit.interval.ms", "200")
        .set("enable.auto.offset.store", "false")
        .set("fetch.wait.max.ms", "100");
    if part.protocol == "classic" {
        config
            .set("partition.assignment.strategy", if part.cooperative { "cooperative-sticky" } else { "range" })
            .set("session.timeout.ms", part.session_timeout_ms.to_string())
            .set("heartbeat.interval.ms", part.heartbeat_interval_ms.to_string());
    }
    if let Some(instance) = &part.instance {
        config.set("group.instance.id", instance);
    }
    config.create_with_context(Callbacks).expect("these settings are valid")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let part: Part = serde_json::from_str(&arguments[1]).expect("a part as JSON");
    report(json!(["Ready"]));
    let mut order = String::new();
    std::io::stdin().read_line(&mut order).expect("an order");
    STOPPING.store(order.trim() == "stop", Ordering::SeqCst);
    std::thread::spawn(listen);
    let consumer = make(&part);
    consumer.subscribe(&[&part.topic]).expect("a topic's name");
    while !STOPPING.load(Ordering::SeqCst) {
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                // The generation is not told by this library.
                report(json!(["Consumed", now(), -1, "", [[message.partition(), message.offset(), message.offset()]]]));
                if let Err(problem) = consumer.store_offset_from_message(&message) {
                    eprintln!("{problem}");
                }
            }
            Some(Err(problem)) => eprintln!("{problem}"),
            None => {}
        }
    }
    drop(consumer); // closes it: commits, and leaves
    report(json!(["Closed"]));
}
