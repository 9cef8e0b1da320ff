// Gives each test a topic and a group of its own, and consumers with short intervals.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { Laboratory } from './laboratory.js'

const BOOTSTRAP = process.env.KOHORT_BOOTSTRAP ?? '127.0.0.1:9092'
const CONTROL = process.env.KOHORT_CONTROL ?? '127.0.0.1:9099'
export const PARTITIONS = 6

// librdkafka's client for Node.js has a native part; without it the tests that need it are skipped.
export const rdkafka = (() => {
  try {
    return createRequire(import.meta.url)('node-rdkafka')
  } catch {
    return undefined
  }
})()
export const wantsRdkafka = { skip: rdkafka ? false : 'node-rdkafka is not installed: it has to be compiled' }

// One test's part of the cluster. At the end of the test its rules are removed, and its consumers close.
export async function story(t) {
  const lab = new Laboratory(CONTROL)
  const topic = `orders-${randomUUID().slice(0, 8)}`
  const group = lab.group(`billing-${randomUUID().slice(0, 8)}`)
  await lab.createTopic(topic, PARTITIONS)
  const closing = []
  t.after(async () => {
    const { gates, violations } = await lab.reset()
    await Promise.all(closing.map((close) => close()))
    if (gates.length || violations.length) throw new Error([...gates, ...violations].join('; '))
  })
  return {
    lab,
    group,
    topic,
    consumer: (name, settings) => kafkajsConsumer(name, group.id, topic, settings, closing),
    rdkafkaConsumer: (name, settings) => rdkafkaConsumer(name, group.id, topic, settings, closing),
  }
}

// Resolves when it has joined and has its assignment, or has failed: then `crash` resolves to the error.
async function kafkajsConsumer(name, groupId, topic, settings, closing) {
  const kafka = new kafkajs.Kafka({
    clientId: name,
    brokers: BOOTSTRAP.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 20 },
  })
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: 45_000,
    rebalanceTimeout: 60_000,
    heartbeatInterval: 100,
    maxWaitTimeInMs: 100,
    ...settings,
  })
  closing.push(() => consumer.disconnect())
  consumer.crash = new Promise((resolve) => consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload.error)))
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage: async () => {} })
  return consumer
}

// Resolves when it is connected; it joins in the background.
async function rdkafkaConsumer(name, groupId, topic, settings, closing) {
  const consumer = new rdkafka.KafkaConsumer(
    {
      'bootstrap.servers': BOOTSTRAP,
      'group.id': groupId,
      'client.id': name,
      'session.timeout.ms': 45_000,
      'heartbeat.interval.ms': 100,
      'enable.auto.commit': false,
      rebalance_cb: true,
      ...settings,
    },
    {},
  )
  consumer.revoked = []
  // A member owns assigned partitions only after it has received them: if it rejoins before that, it owns nothing.
  consumer.hasItsShare = new Promise((resolve) => {
    consumer.on('rebalance', (what, partitions) => {
      const revoked = what.code === rdkafka.CODES.ERRORS.ERR__REVOKE_PARTITIONS
      if (revoked) consumer.revoked.push(...partitions.map((each) => each.partition))
      else resolve()
    })
  })
  await new Promise((resolve, reject) => consumer.connect({}, (error) => (error ? reject(error) : resolve())))
  consumer.subscribe([topic])
  consumer.consume()
  consumer.close = () =>
    new Promise((resolve) => {
      if (!consumer.isConnected()) return resolve()
      consumer.disconnect(resolve)
    })
  closing.push(consumer.close)
  return consumer
}

export const owned = (member, topic) => member.partitions[topic] ?? []
export const clients = ({ members }) => members.map((member) => member.client_id).sort()
