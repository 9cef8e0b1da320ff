// A static member restarts, and nothing moves.
//
// With `group.instance.id` a consumer that comes back within its session gets its partitions back without a rebalance.
// One without it causes two. kafkajs knows no static membership, so librdkafka plays the first part.
import assert from 'node:assert/strict'
import test from 'node:test'
import { story, wantsRdkafka } from './story.js'

test('a static member comes back to what it had', wantsRdkafka, async (t) => {
  const { lab, group, rdkafkaConsumer } = await story(t)
  const ada = await rdkafkaConsumer('ada', { 'group.instance.id': 'desk-1' })
  await rdkafkaConsumer('bob', { 'group.instance.id': 'desk-2' })
  const { generation } = await group.wait({ members: 2 })
  const had = (await group.member('desk-1')).partitions
  await ada.close()
  await lab.advance(30)
  await rdkafkaConsumer('ada', { 'group.instance.id': 'desk-1' })
  await group.events('member_replaced', 1)
  assert.equal((await group.wait({ members: 2 })).generation, generation)
  assert.deepEqual((await group.member('desk-1')).partitions, had)
})

test('a dynamic member causes two rebalances', async (t) => {
  const { group, consumer } = await story(t)
  const [ada] = await Promise.all([consumer('ada'), consumer('bob')])
  const { generation } = await group.wait({ members: 2 })
  await ada.disconnect()
  await group.wait({ members: 1 })
  await consumer('ada')
  assert.equal((await group.wait({ members: 2 })).generation, generation + 2)
})
