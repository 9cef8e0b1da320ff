// Requests to the control address of a broker with plain fetch.

export class Laboratory {
  constructor(address) {
    this.base = `http://${address}`
  }

  // Sends a request and returns the response. A rejection is an Error whose message describes what to do.
  async ask(method, path, body) {
    const token = process.env.KOHORT_CONTROL_TOKEN
    const response = await fetch(this.base + path, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const answer = await response.json()
    if (!response.ok) throw new Error(answer.detail)
    return answer
  }

  createTopic = (name, partitions) => this.ask('POST', '/topics', { name, partitions })

  // The brokers' clock. Timers of the client under test are not affected.
  pause = () => this.ask('POST', '/clock/pause')
  run = () => this.ask('POST', '/clock/run')
  advance = (seconds) => this.ask('POST', '/clock/advance', { seconds })

  // Adds a rule for requests. Held requests continue when it is removed.
  async fault(match, what, { times, ...given } = {}) {
    const { number } = await this.ask('POST', '/faults', { match, do: what, with: given, times })
    return {
      acted: async () => (await this.ask('GET', '/faults')).find((rule) => rule.number === number).acted,
      remove: () => this.ask('DELETE', `/faults/${number}`),
    }
  }

  // Ends all rules, opens all gates, resumes the clock. Returns the gates that were held, and violations.
  reset = () => this.ask('POST', '/reset')
  nodes = () => this.ask('GET', '/nodes')
  stopNode = (id) => this.ask('POST', `/nodes/${id}/stop`)
  startNode = (id) => this.ask('POST', `/nodes/${id}/start`)

  group = (id) => new Group(this, id)
}

class Group {
  constructor(laboratory, id) {
    this.laboratory = laboratory
    this.id = id
    this.path = `/groups/${encodeURIComponent(id)}`
  }

  read = () => this.laboratory.ask('GET', this.path)
  member = (who) => this.laboratory.ask('GET', `${this.path}/members/${encodeURIComponent(who)}`)
  history = () => this.laboratory.ask('GET', `${this.path}/history`)
  timeline = () => this.laboratory.ask('GET', `${this.path}/timeline`)
  moveCoordinator = (node) => this.laboratory.ask('POST', `${this.path}/coordinator`, { node })

  // Waits until the group matches { state, members, member, waits_for, generation }; the default state is Stable.
  wait = (wanted) => this.laboratory.ask('GET', `${this.path}/wait?${new URLSearchParams({ timeout: 20, ...wanted })}`)

  // Returns the next events of a kind, from server-sent events.
  async events(kind, count) {
    const response = await fetch(`${this.laboratory.base}/events?past=true&group=${encodeURIComponent(this.id)}`)
    const found = []
    let text = ''
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n')
      text = lines.pop()
      for (const line of lines.filter((each) => each.startsWith('data: '))) {
        const event = JSON.parse(line.slice('data: '.length))
        if (event.kind === kind) found.push(event)
        if (found.length === count) return found
      }
    }
    throw new Error(`the broker hung up after ${found.length} of ${count} events ${kind}`)
  }
}
