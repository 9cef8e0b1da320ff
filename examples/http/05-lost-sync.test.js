// A SyncGroup response is lost.
//
// The coordinator has assigned the partitions, but one member did not receive the response. It retries; nothing else
// happens. Try it with your own client: some fail, some wait for a whole request timeout.
import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { clients, owned, PARTITIONS, story } from './story.js'

test('a member retries a lost sync', async (t) => {
  const { lab, group, topic, consumer } = await story(t)
  const which = { api: 'SyncGroup', group: group.id, client_id: 'bob' }
  const lost = await lab.fault(which, 'close_after_handling', { times: 1 })
  await Promise.all([consumer('ada'), consumer('bob')])
  const stable = await group.wait({ members: 2 })
  while (await lost.acted() < 1) await setTimeout(20) // the group is stable as soon as its leader has synced
  assert.deepEqual(clients(stable), ['ada', 'bob'])
  assert.equal(stable.members.flatMap((member) => owned(member, topic)).length, PARTITIONS)
})
