// A consumer with kafkajs, as tests/clients/company.py talks to it: a part as JSON, orders on stdin, reports on stdout.
// kafkajs has neither static membership nor cooperative assignment.
const readline = require('node:readline')
const { Kafka, logLevel } = require('kafkajs')

const part = JSON.parse(process.argv[2])
const report = (...values) => process.stdout.write(JSON.stringify(values) + '\n')

async function main() {
  const kafka = new Kafka({ clientId: part.name, brokers: part.bootstrap.split(','), logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({
    groupId: part.group,
    sessionTimeout: part.session_timeout_ms,
    heartbeatInterval: part.heartbeat_interval_ms,
    rebalanceTimeout: part.max_poll_interval_ms,
    maxWaitTimeInMs: 100,
  })
  let owned = []
  let generation = -1
  const revoke = () => {
    if (owned.length) report('Revoked', Date.now() / 1000, owned)
    owned = []
  }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    revoke()
    owned = payload.memberAssignment[part.topic] ?? []
    generation = payload.generationId ?? -1
    report('Owns', Date.now() / 1000, owned)
  })
  consumer.on(consumer.events.REBALANCING, revoke)
  report('Ready')
  let leave
  const left = new Promise((resolve) => { leave = resolve })
  const orders = readline.createInterface({ input: process.stdin })
  orders.on('line', (order) => order === 'stop' ? leave() : join())
  orders.on('close', () => process.exit(3))

  async function join() {
    await consumer.connect()
    await consumer.subscribe({ topic: part.topic, fromBeginning: true })
    await consumer.run({
      autoCommitInterval: 200,
      eachBatch: async ({ batch, resolveOffset, heartbeat, commitOffsetsIfNecessary }) => {
        const first = Number(batch.firstOffset())
        const last = Number(batch.lastOffset())
        if (batch.messages.length) report('Consumed', Date.now() / 1000, generation, '', [[batch.partition, first, last]])
        resolveOffset(batch.lastOffset())
        await commitOffsetsIfNecessary()
        await heartbeat()
      },
    })
  }

  await left
  await consumer.disconnect()
  report('Closed')
  process.exit(0)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
