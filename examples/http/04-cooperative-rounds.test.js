// Cooperative rebalancing: two rounds, and who keeps a partition never stops reading it.
//
// The first round tells who gives up what; only when that is done does a second one hand it on. kafkajs takes
// everything from everybody at each rebalance; librdkafka can do better.
import assert from 'node:assert/strict'
import test from 'node:test'
import { owned, PARTITIONS, story, wantsRdkafka } from './story.js'

test('two rounds, and nothing is taken that stays', wantsRdkafka, async (t) => {
  const { group, topic, rdkafkaConsumer } = await story(t)
  const cooperative = { 'partition.assignment.strategy': 'cooperative-sticky' }
  const ada = await rdkafkaConsumer('ada', cooperative)
  const { generation } = await group.wait({ members: 1, generation: 1 })
  await ada.hasItsShare
  await rdkafkaConsumer('bob', cooperative)
  await group.wait({ members: 2, generation: generation + 2 })
  const kept = owned(await group.member('ada'), topic)
  const handedOn = owned(await group.member('bob'), topic)
  assert.equal(kept.length, 3)
  assert.equal(new Set([...kept, ...handedOn]).size, PARTITIONS)
  assert.deepEqual(new Set(ada.revoked), new Set(handedOn), 'what ada keeps was never taken from it')
})
