// Client of the control address: requests with the token, and the event stream, which is reopened when it breaks.

const TOKEN = 'kohort control token'
const MAX_PAUSE_MS = 5_000
const SILENCE_MS = 40_000 // the stream sends a comment every 15 s

/** The broker rejected a request; `message` is its reason. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail)
    this.status = status
  }
}

/** Store the token until the tab is closed. */
export function setToken(token) {
  sessionStorage.setItem(TOKEN, token)
}

function headers() {
  const token = sessionStorage.getItem(TOKEN)
  return token ? {Authorization: 'Bearer ' + token} : {}
}

/** Return the response of an endpoint. Throws Refused, or TypeError if the broker is unreachable. */
export async function request(path, method = 'GET', body = undefined) {
  const response = await fetch(path, {
    method,
    headers: {...headers(), ...(body === undefined ? {} : {'Content-Type': 'application/json'})},
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  })
  const content = await response.json().catch(() => null)
  if (!response.ok) throw new Refused(response.status, content?.detail ?? response.statusText)
  return content
}

/** Read events until the page is closed. `up` is called when the stream (re)opens, `down` when it breaks. */
export async function follow(onEvent, up, down) {
  for (let pause = 250; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
    try {
      await read(onEvent, () => { pause = 250; up() })
      down(null)
    } catch (error) {
      down(error)
      if (error instanceof Refused) return
    }
    await new Promise(resolve => setTimeout(resolve, pause))
  }
}

async function read(onEvent, up) {
  const silent = new AbortController()
  const response = await fetch('events', {headers: headers(), signal: silent.signal})
  if (!response.ok) throw new Refused(response.status, (await response.json().catch(() => null))?.detail ?? response.statusText)
  up()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ;) {
    const timer = setTimeout(() => silent.abort(), SILENCE_MS)
    const {value, done} = await reader.read().finally(() => clearTimeout(timer))
    if (done) return
    const parts = (rest + value).split('\n\n')
    rest = parts.pop()
    for (const part of parts) {
      const data = part.split('\n').filter(line => line.startsWith('data: ')).map(line => line.slice(6)).join('\n')
      if (data) onEvent(JSON.parse(data))
    }
  }
}
