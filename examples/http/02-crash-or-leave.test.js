// A crash is not a leave.
//
// When a consumer closes, its partitions move at once. When it crashes, they move only after its session timeout:
// 45 seconds here, which pass in milliseconds.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clients, story } from './story.js'

test('a leave is immediate', async (t) => {
  const { group, consumer } = await story(t)
  const [, bob] = await Promise.all([consumer('ada'), consumer('bob')])
  await group.wait({ members: 2 })
  await bob.disconnect()
  await group.wait({ members: 1 })
  assert.equal((await group.history()).at(-1).cause, 'leave explicit')
})

test('a crash takes a session timeout', async (t) => {
  const { lab, group, consumer } = await story(t)
  await Promise.all([consumer('ada'), consumer('bob')])
  await group.wait({ members: 2 })
  const bob = await group.member('bob')
  await lab.fault({ group: group.id, member: bob.member_id }, 'hold')
  const began = performance.now()
  await lab.advance(40)
  assert.deepEqual(clients(await group.read()), ['ada', 'bob'], 'not yet')
  await lab.advance(6)
  assert.deepEqual(clients(await group.wait({ members: 1 })), ['ada'])
  const missed = (await group.history()).at(-1)
  assert.equal(missed.cause, 'session expired')
  assert.equal(missed.actor, 'bob')
  assert.ok(performance.now() - began < 45_000, '45 seconds did not take 45 seconds')
})
