// A rolling change of the assignor.
//
// Members may list several assignors; the group uses one that every member lists. A change therefore takes two
// deployments: first both assignors, then only the new one. A member that lists only the new one while others list only
// the old one is rejected.
import assert from 'node:assert/strict'
import test from 'node:test'
import kafkajs from 'kafkajs'
import { story } from './story.js'

const { roundRobin } = kafkajs.PartitionAssigners
// kafkajs has one assignor. The new one assigns in the same way, under its own name.
const ours = (cluster) => ({
  ...roundRobin(cluster),
  name: 'ours',
  protocol: ({ topics }) => ({ ...roundRobin(cluster).protocol({ topics }), name: 'ours' }),
})
const only = (...partitionAssigners) => ({ partitionAssigners })

test('two deployments change the assignor', async (t) => {
  const { group, consumer } = await story(t)
  const ada = await consumer('ada', only(roundRobin))
  assert.equal((await group.wait({ members: 1 })).protocol, 'RoundRobinAssigner')
  const bob = await consumer('bob', only(roundRobin, ours))
  await ada.disconnect()
  await consumer('ada', only(roundRobin, ours))
  await group.wait({ members: 2 })
  await bob.disconnect()
  await consumer('bob', only(ours))
  assert.equal((await group.wait({ members: 2 })).protocol, 'ours')
})

test('one deployment is rejected', async (t) => {
  const { consumer } = await story(t)
  await consumer('ada', only(roundRobin))
  const bob = await consumer('bob', only(ours))
  assert.equal((await bob.crash).type, 'INCONSISTENT_GROUP_PROTOCOL')
})
