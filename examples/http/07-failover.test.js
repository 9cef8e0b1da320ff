// The coordinator moves in the middle of a rebalance.
//
// The old node forgets the group, joins that wait are sent away, and the new node loads what was written. Clients find
// it by themselves.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clients, story } from './story.js'

test('joins that wait find the new coordinator', async (t) => {
  const { lab, group, consumer } = await story(t)
  await Promise.all([consumer('ada'), consumer('bob')])
  await group.wait({ members: 2 })
  const which = { api: 'JoinGroup', group: group.id, client_id: 'ada', state: 'PreparingRebalance' }
  const busy = await lab.fault(which, 'hold')
  const joining = consumer('eve')
  const { coordinator } = await group.wait({ state: 'PreparingRebalance', members: 3 })
  const other = (await lab.nodes()).find((node) => node.id !== coordinator)
  assert.equal((await group.moveCoordinator(other.id)).coordinator, other.id)
  await busy.remove()
  await joining
  assert.deepEqual(clients(await group.wait({ members: 3 })), ['ada', 'bob', 'eve'])
})
