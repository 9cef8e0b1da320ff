// HTTP client of a control address, used by `control.js`.

// The broker rejected the request; the message describes what to do.
export class Refused extends Error {
  constructor(status, message) {
    super(message)
    this.name = 'Refused'
    this.status = status
  }
}

export class Address {
  constructor(address, token) {
    this.base = address.includes('://') ? address.replace(/\/$/, '') : `http://${address}`
    this.token = token
  }

  async ask(method, path, query, body) {
    const text = await (await this.#send(method, path, query, body)).text()
    return text === '' ? undefined : JSON.parse(text)
  }

  async text(method, path) {
    return (await this.#send(method, path)).text()
  }

  // Server-sent events. Leaving the loop closes the connection.
  async *events(method, path, query) {
    const answer = await this.#send(method, path, query)
    let text = ''
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split('\n')
      text = lines.pop()
      for (const line of lines) if (line.startsWith('data:')) yield JSON.parse(line.slice('data:'.length))
    }
  }

  async #send(method, path, query = {}, body = undefined) {
    const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
    const search = parameters.length ? `?${new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]))}` : ''
    const headers = { ...(body !== undefined && { 'content-type': 'application/json' }) }
    if (this.token) headers.authorization = `Bearer ${this.token}`
    const answer = await fetch(this.base + path + search, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    if (answer.ok) return answer
    const refusal = await answer.text()
    throw new Refused(answer.status, detail(refusal))
  }
}

function detail(text) {
  try {
    return JSON.parse(text).detail ?? text
  } catch {
    return text // not the broker's response, but a proxy's
  }
}
