// The control address: requests with the token, and the stream of events, taken up again when it breaks.

const TOKEN = 'kohort control token'
const LONGEST_PAUSE_MS = 5_000
const SILENCE_MS = 40_000 // the stream gives a sign of life every 15 s

/** The broker said no; `message` is its sentence. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail)
    this.status = status
  }
}

/** Keeps the token for as long as the tab is open. */
export function setToken(token) {
  sessionStorage.setItem(TOKEN, token)
}

function headers() {
  const token = sessionStorage.getItem(TOKEN)
  return token ? {Authorization: 'Bearer ' + token} : {}
}

/** What an endpoint answers. Throws Refused, or TypeError where nobody answers. */
export async function ask(path, method = 'GET', body = undefined) {
  const answer = await fetch(path, {
    method,
    headers: {...headers(), ...(body === undefined ? {} : {'Content-Type': 'application/json'})},
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  })
  const said = await answer.json().catch(() => null)
  if (!answer.ok) throw new Refused(answer.status, said?.detail ?? answer.statusText)
  return said
}

/** Follows the events for as long as the page is open. `up` is called at each (new) beginning, `down` when it breaks. */
export async function follow(hear, up, down) {
  for (let pause = 250; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      await read(hear, () => { pause = 250; up() })
      down(null)
    } catch (problem) {
      down(problem)
      if (problem instanceof Refused) return
    }
    await new Promise(go => setTimeout(go, pause))
  }
}

async function read(hear, up) {
  const silent = new AbortController()
  const answer = await fetch('events', {headers: headers(), signal: silent.signal})
  if (!answer.ok) throw new Refused(answer.status, (await answer.json().catch(() => null))?.detail ?? answer.statusText)
  up()
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let rest = ''; ;) {
    const timer = setTimeout(() => silent.abort(), SILENCE_MS)
    const {value, done} = await reader.read().finally(() => clearTimeout(timer))
    if (done) return
    const parts = (rest + value).split('\n\n')
    rest = parts.pop()
    for (const part of parts) {
      const data = part.split('\n').filter(line => line.startsWith('data: ')).map(line => line.slice(6)).join('\n')
      if (data) hear(JSON.parse(data))
    }
  }
}
