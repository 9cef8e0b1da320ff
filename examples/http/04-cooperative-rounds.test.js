// Cooperative rebalancing: two rounds, and members keep reading the partitions that they keep.
//
// In the first round members revoke the partitions that move; then a second round assigns them to their new owners.
// kafkajs revokes all partitions of all members at each rebalance; librdkafka supports cooperative assignors.
import assert from 'node:assert/strict'
import test from 'node:test'
import { owned, PARTITIONS, story, wantsRdkafka } from './story.js'

test('two rounds revoke only partitions that move', wantsRdkafka, async (t) => {
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
  assert.deepEqual(new Set(ada.revoked), new Set(handedOn), "ada's remaining partitions were never revoked")
})
