// A slow consumer stalls the group.
//
// A rebalance waits for every member. A member that is processing a long batch does not rejoin, and no member consumes
// meanwhile. Here ada's JoinGroup is held, as if its eachBatch were busy; the clock is paused, so that the test decides
// how long.
import assert from 'node:assert/strict'
import test from 'node:test'
import { clients, story } from './story.js'

test('the group waits for the slow member', async (t) => {
  const { lab, group, consumer } = await story(t)
  await Promise.all([consumer('ada'), consumer('bob')])
  await group.wait({ members: 2 })
  const busy = await lab.fault({ api: 'JoinGroup', group: group.id, client_id: 'ada' }, 'hold')
  const joining = consumer('eve')
  await group.wait({ state: 'PreparingRebalance', members: 3, member: 'bob', waits_for: 'join' })
  await lab.pause()
  await lab.advance(40)
  assert.equal((await group.read()).state, 'PreparingRebalance', 'bob and eve wait, 40 seconds by now')
  assert.equal((await group.member('ada')).waits_for, '')
  await lab.run()
  await busy.remove()
  await joining
  const stable = await group.wait({ members: 3 })
  const slow = (await group.history()).at(-1)
  assert.equal(slow.cause, 'join new')
  assert.equal(slow.laggard, 'ada')
  assert.ok(slow.prepare_ms >= 40_000)
  assert.deepEqual(clients(stable), ['ada', 'bob', 'eve'])
})
