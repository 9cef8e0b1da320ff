// Two processes with the same `group.instance.id`.
//
// The second process replaces the first one, which is fenced. In librdkafka that is a fatal error: the older process stops
// consuming and logs it once. No rebalance happens, so that only its log shows the problem. (aiokafka joins
// again instead, so that two processes replace each other forever: examples/test_09_duplicate_instance.py.)
import assert from 'node:assert/strict'
import test from 'node:test'
import { story, wantsRdkafka } from './story.js'

test('the older process is fenced without a rebalance', wantsRdkafka, async (t) => {
  const { group, rdkafkaConsumer } = await story(t)
  const desk = { 'group.instance.id': 'desk-1' }
  const ada = await rdkafkaConsumer('ada', desk)
  const lastWords = new Promise((resolve) => ada.on('event.log', (line) => line.fac === 'FATAL' && resolve(line.message)))
  const before = await group.wait({ members: 1 })
  await rdkafkaConsumer('bob', desk)
  await group.events('member_replaced', 1)
  await group.events('member_fenced', 1)
  assert.match(await lastWords, /Static consumer fenced by other consumer with same group\.instance\.id/)
  const after = await group.wait({ members: 1 })
  assert.equal(after.generation, before.generation)
  assert.notEqual(after.members[0].member_id, before.members[0].member_id)
  assert.equal(after.members[0].client_id, 'ada', 'as in Kafka, the member keeps the client id of the first process')
})
