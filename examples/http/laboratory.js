// The control address of a broker, as these tests hold it: plain fetch, nothing of kohort's to install.

export class Laboratory {
  constructor(address) {
    this.base = `http://${address}`
  }

  // What the control address answers. A refusal is an Error whose message is the sentence that says what to do.
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

  // The brokers' clock. Timers of the client under test go on as they are.
  pause = () => this.ask('POST', '/clock/pause')
  run = () => this.ask('POST', '/clock/run')
  advance = (seconds) => this.ask('POST', '/clock/advance', { seconds })

  // A rule that spoils requests: which, how, when. What it holds goes on once it is removed.
  async fault(match, what, { times, ...given } = {}) {
    const { number } = await this.ask('POST', '/faults', { match, do: what, with: given, times })
    return {
      acted: async () => (await this.ask('GET', '/faults')).find((rule) => rule.number === number).acted,
      remove: () => this.ask('DELETE', `/faults/${number}`),
    }
  }

  // Ends all rules, opens all gates, lets the clock run. Answers the gates that were held, and what must never be.
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

  // Answered when the group is so: { state, members, member, waits_for, generation }, Stable unless said otherwise.
  wait = (wanted) => this.laboratory.ask('GET', `${this.path}/wait?${new URLSearchParams({ timeout: 20, ...wanted })}`)

  // The next events of a kind, as they happen: a server-sent event each.
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
