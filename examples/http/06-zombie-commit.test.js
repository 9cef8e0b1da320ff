// A zombie's commit is fenced.
//
// bob hangs with a commit in flight, is removed, and its partitions go to ada. When bob continues, the commit arrives
// with the previous generation. The broker rejects it, so that ada's progress is not overwritten.
import assert from 'node:assert/strict'
import test from 'node:test'
import { owned, story } from './story.js'

test('a removed member cannot commit', async (t) => {
  const { lab, group, topic, consumer } = await story(t)
  const [, bob] = await Promise.all([consumer('ada'), consumer('bob')])
  await group.wait({ members: 2 })
  const member = await group.member('bob')
  const [partition] = owned(member, topic)
  const frozen = await lab.fault({ group: group.id, member: member.member_id }, 'hold')
  const refused = assert.rejects(
    bob.commitOffsets([{ topic, partition, offset: '1000' }]),
    ({ cause }) => cause.type === 'UNKNOWN_MEMBER_ID',
  )
  await lab.advance(46)
  await group.wait({ members: 1 })
  await frozen.remove()
  await refused
  assert.equal((await group.read()).offsets[`${topic}-${partition}`], undefined)
})
