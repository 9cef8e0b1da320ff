// The group's partition of `__consumer_offsets` has no leader.
//
// Its only replica is on a stopped node: the group has no coordinator, and its members can only look for one. When the
// node restarts they continue in the same generation.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clients, story } from './story.js'

test('a group waits for its coordinator', async (t) => {
  const { lab, group, consumer } = await story(t)
  await Promise.all([consumer('ada'), consumer('bob')])
  const { generation, coordinator } = await group.wait({ members: 2 })
  await lab.stopNode(coordinator)
  try {
    await assert.rejects(group.read(), /does not exist or has no coordinator/)
  } finally {
    await lab.startNode(coordinator)
  }
  const back = await group.wait({ members: 2 })
  assert.equal(back.coordinator, coordinator)
  assert.equal(back.generation, generation)
  assert.deepEqual(clients(back), ['ada', 'bob'])
})
