import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Kafka, logLevel } from 'kafkajs'
import { useKohort } from 'kohort/test'

const kohort = useKohort()

async function service(clientId, seen = []) {
  const kafka = new Kafka({ brokers: kohort.brokers, clientId, logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: 'billing', heartbeatInterval: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic: 'orders', fromBeginning: true })
  await consumer.run({ autoCommitThreshold: 1, eachMessage: async ({ message }) => void seen.push(String(message.value)) })
  return consumer
}

test('what is read is committed', async () => {
  await kohort.control.topics.create({ name: 'orders' })
  await kohort.control.topics.append('orders', { values: ['a', 'b'] })
  const seen = []
  const ada = await service('ada', seen)
  await kohort.control.groups.wait('billing', { caught_up: true, timeout: 60 })
  assert.deepEqual(seen, ['a', 'b'])
  await ada.disconnect()
  assert.deepEqual((await kohort.control.groups.read('billing')).offsets, { 'orders-0': 2 })
})

test('a crash costs a session timeout', async () => {
  await kohort.control.topics.create({ name: 'orders', partitions: 6 })
  const members = await Promise.all([service('ada'), service('bob')])
  await kohort.control.groups.wait('billing', { members: 2, timeout: 60 })
  const { number } = await kohort.control.faults.freeze({ group: 'billing', member: 'bob' })
  await kohort.control.clock.advance({ seconds: 46 }) // bob's session ends; ada rejoins with her next heartbeat
  await kohort.control.groups.wait('billing', { members: 1, timeout: 60 })
  const causes = (await kohort.control.groups.history('billing')).map((each) => each.cause)
  assert.ok(causes.includes('session expired'), String(causes))
  await kohort.control.faults.remove(number)
  await Promise.all(members.map((each) => each.disconnect()))
})
