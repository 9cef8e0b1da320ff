// The group's partition of `__consumer_offsets` has no leader.
//
// Its only copy is on a node that is stopped: the group has no coordinator, and its members can do nothing but look for
// one. When the node is back they go on, in the same generation.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clients, story } from './story.js'

test('a group without a coordinator waits for it', async (t) => {
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
