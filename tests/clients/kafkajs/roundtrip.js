// Sends and reads a record with kafkajs in a secured cluster, for tests/clients/test_secured_libraries.py. The argument
// contains the login as JSON; prints the record.
const { readFileSync } = require('node:fs')
const { Kafka, logLevel } = require('kafkajs')

const trip = JSON.parse(process.argv[2])

async function main() {
  const ssl = { ca: [readFileSync(trip.authority)] }
  if (trip.certificate) ssl.cert = ssl.key = readFileSync(trip.certificate)
  const sasl = trip.mechanism
    ? { mechanism: trip.mechanism.toLowerCase(), username: trip.user, password: trip.password }
    : undefined
  const brokers = trip.bootstrap.split(',')
  // Rejections are final, so the first one is reported.
  const kafka = new Kafka({ clientId: 'kafkajs', brokers, ssl, sasl, retry: { retries: 0 }, logLevel: logLevel.NOTHING })
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: trip.topic, messages: [{ value: 'hello' }] })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: trip.group, retry: { retries: 5 } })
  await consumer.connect()
  await consumer.subscribe({ topic: trip.topic, fromBeginning: true })
  const read = new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) }).catch(reject)
  })
  console.log(await read)
  await consumer.disconnect()
  process.exit(0)
}

main().catch((error) => {
  console.log(String(error))
  process.exit(1)
})
