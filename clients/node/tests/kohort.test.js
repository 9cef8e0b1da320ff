import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Kohort, Refused } from 'kohort'
import { useKohort } from 'kohort/test'

const kohort = useKohort({ nodes: 3, settings: { 'group.max.size': 2 } })
const control = () => kohort.control

test('a topic, a group, a rule and a stopped clock of the first test', async () => {
  await control().topics.create({ name: 'orders', partitions: 2, configs: { 'retention.ms': '1000' } })
  await control().topics.append('orders', { values: ['a', null], key: 'k' })
  assert.deepEqual(
    (await control().topics.records('orders', { limit: 5 })).map((each) => each.value?.text),
    ['a', undefined],
  )
  await control().groups.commit('billing', { offsets: { 'orders-0': 1 } })
  assert.equal((await control().groups.read('billing')).state, 'Empty')
  await control().faults.add({ match: { group: 'billing', client_id: 'ada' }, do: 'hold', times: 1 })
  await control().clock.pause()
})

test('are gone in the second', async () => {
  assert.deepEqual((await control().topics.list()).filter((each) => !each.internal), [])
  assert.deepEqual(await control().groups.list(), [])
  assert.deepEqual(await control().faults.listRules(), [])
  assert.equal((await control().clock.read()).paused, false)
  assert.equal(kohort.brokers.length, 3)
})

test('a rejection describes what to do', async () => {
  await assert.rejects(control().groups.read('missing'), (problem) => {
    assert.ok(problem instanceof Refused)
    assert.equal(problem.status, 404)
    assert.equal(problem.message, 'group missing does not exist or has no coordinator')
    return true
  })
  await assert.rejects(Kohort.start({ settings: { 'group.max.syze': 2 } }), /did you mean group.max.size/)
  await assert.rejects(Kohort.start({ command: 'no-such-kohort' }), /command no-such-kohort not found; install kohort/)
})

test('events come as they happen', async () => {
  await control().groups.commit('billing', { offsets: { '__consumer_offsets-0': 0 } })
  for await (const event of control().events.stream({ group: 'billing', past: true })) {
    assert.equal(event.kind, 'group_created')
    break
  }
  assert.match(await control().metrics.read(), /kafka_coordinator_group/)
})

test('a failing test prints what happened, a gate left held fails one', async () => {
  const here = dirname(fileURLToPath(import.meta.url))
  const folder = await mkdtemp(join(here, 'sample-'))
  try {
    await writeFile(join(folder, 'sample.js'), SAMPLE)
    const output = await new Promise((resolve) => {
      // Without the variable the sample reports to its own stdout, not to the run that this test is part of.
      const { NODE_TEST_CONTEXT, ...env } = process.env
      execFile(process.execPath, ['--test', '--test-reporter=tap', 'sample.js'], { cwd: folder, env }, (_, out, error) => resolve(out + error))
    })
    assert.match(output, /# fail 2\n/)
    assert.match(output, /kohort saw in fails:/)
    assert.match(output, /group billing \(Empty/)
    assert.match(output, /gate join-complete was still held/)
  } finally {
    await rm(folder, { recursive: true })
  }
})

const SAMPLE = `
import { test } from 'node:test'
import { useKohort } from 'kohort/test'

const kohort = useKohort()
test('fails', async () => {
  await kohort.control.groups.commit('billing', { offsets: { '__consumer_offsets-0': 0 } })
  throw new Error('as meant')
})
test('leaves a gate', () => kohort.control.gates.hold({ name: 'join-complete' }))
`
