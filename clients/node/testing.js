// For node:test: a broker for all tests of a file or a `describe`, reset after each of them.

import assert from 'node:assert/strict'
import { after, afterEach, before } from 'node:test'
import { Kohort } from './index.js'

export function useKohort(options = {}) {
  let kohort
  before(async () => {
    const { KOHORT_BOOTSTRAP: bootstrap, KOHORT_CONTROL: control } = process.env
    kohort = bootstrap && control ? new Kohort(bootstrap, control) : await Kohort.start(options)
  })
  afterEach(async (test) => {
    if (test.passed === false) console.error(`kohort saw in ${test.name}:\n${await kohort.report()}`)
    const left = await kohort.reset()
    if (left.groups.length) {
      console.error(`kohort: ${test.name} leaves members in ${left.groups.join(', ')}; disconnect every consumer before the test ends`)
    }
    assert.deepEqual([...left.violations, ...left.gates], [])
  })
  after(() => kohort?.stop())
  return {
    get bootstrap() {
      return kohort.bootstrap
    },
    get brokers() {
      return kohort.brokers
    },
    get control() {
      return kohort.control
    },
    report: () => kohort.report(),
    reset: () => kohort.reset(),
  }
}
