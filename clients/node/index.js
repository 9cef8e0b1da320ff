// A broker of kohort, for tests: `await Kohort.start()`, `kohort.bootstrap`, `kohort.control`, `await kohort.stop()`.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Address } from './address.js'
import { control } from './control.js'

export { Refused } from './address.js'

const READY = /^READY bootstrap=(\S+).* control=(\S+)/
const LOG_LINES = 50
const STOP_WITHIN_MS = 20_000

export class Kohort {
  #process
  #ended = Promise.resolve()
  #log = []
  #endWithUs = () => this.#process.kill()

  constructor(bootstrap, controlAddress, token = process.env.KOHORT_CONTROL_TOKEN) {
    this.bootstrap = bootstrap
    this.brokers = bootstrap.split(',')
    this.control = control(new Address(controlAddress, token))
  }

  // Starts `kohort serve`. `command` is looked for on the PATH; KOHORT_COMMAND names it otherwise.
  static async start({ nodes = 1, settings = {}, asKafka, options = [], command = process.env.KOHORT_COMMAND ?? 'kohort' } = {}) {
    const given = ['serve', '--listen', '127.0.0.1:0', '--control', '127.0.0.1:0', '--profile', 'test', '--log-level', 'warning']
    given.push('--nodes', String(nodes), ...Object.entries(settings).flatMap(([name, value]) => ['--set', `${name}=${value}`]))
    if (asKafka) given.push('--as-kafka', asKafka)
    const child = spawn(command, [...given, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
    const log = []
    const ended = new Promise((resolve) => child.once('close', resolve))
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line)
      if (log.length > LOG_LINES) log.shift()
    })
    const line = await new Promise((resolve, reject) => {
      child.once('error', () =>
        reject(new Error(`command ${command} not found; install kohort with its extra control, or name the command with KOHORT_COMMAND`)),
      )
      createInterface({ input: child.stdout }).once('line', resolve)
      ended.then(() => resolve(''))
    })
    const ready = READY.exec(line)
    if (!ready) throw new Error(`kohort did not start: ${[line, ...log].join(' ').trim()}`)
    const kohort = new Kohort(ready[1], ready[2])
    kohort.#process = child
    kohort.#ended = ended
    kohort.#log = log
    // Neither the broker nor its pipes keep a test run from ending, and it ends with the run.
    for (const each of [child, child.stdout, child.stderr]) each.unref()
    process.once('exit', kohort.#endWithUs)
    return kohort
  }

  // Ends all rules, opens all gates, lets the clock run, deletes all topics, and all groups without members.
  reset() {
    return this.control.reset.reset({ data: true })
  }

  // Per group: what happened, and what it waits for now. Behind that what the broker has warned of.
  async report() {
    const lines = []
    if (this.#process && this.#process.exitCode !== null) {
      lines.push(`kohort has ended with exit code ${this.#process.exitCode}`)
    } else {
      for (const { id } of await this.control.groups.list()) {
        lines.push(...(await this.control.groups.timeline(id)), ...(await this.control.groups.explanation(id)))
      }
    }
    return [...lines, ...this.#log].join('\n')
  }

  // Stops it, if it was started here.
  async stop() {
    if (!this.#process) return
    this.#process.ref()
    this.#process.kill()
    const tooLong = setTimeout(() => this.#process.kill('SIGKILL'), STOP_WITHIN_MS)
    await this.#ended
    clearTimeout(tooLong)
    process.off('exit', this.#endWithUs)
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.stop()
  }
}
