// The page: events arrive at once; the data shown are requested again a few times a second, if they may have changed.

import {follow, Refused, request, setToken} from './api.js'
import {showGlance} from './glance.js'
import {showGroup, showRebalances} from './group.js'
import {GroupList} from './groups.js'
import {showClock, showEvents, showFaults, showGates} from './laboratory.js'
import {exactly, isMoving, Ownership} from './model.js'
import {paths} from './offers.js'
import {showOwnership} from './ownership.js'
import {contains, showOffsets, showRecords, showTopic, showTopicForms, showTopics} from './topics.js'

const COUNTED_ONLY = ['heartbeat_stats', 'commit_stats']
const KEPT_EVENTS = 5_000
const PAST_EVENTS = 500
const LIST_MS = 500, GLANCE_MS = 1_000, GROUP_MS = 250, LABORATORY_MS = 1_000, TIMERS_MS = 200

const at = id => document.getElementById(id)
const open = id => { location.hash = 'group=' + encodeURIComponent(id) }
const list = new GroupList(at('groups'), at('count'), open)
const timers = []
const ownerships = new Map() // group id to Ownership
let byHand = false // whether the user chose the open group; otherwise the page shows the group with most errors
let groups = [], group = null, chosen = null, events = [], stops = []
let clock = {now_ms: 0, paused: false, scale: 1}
let lostSince = null, boot = null
let topic = null // name of the open topic
let stale = {groups: true, group: true, events: true}

/** Call a function repeatedly, never twice at a time, and less often if it is slow. */
function repeat(intervalMs, action) {
  const next = async () => {
    const began = performance.now()
    if (!document.hidden && lostSince === null) await attempt(action)
    setTimeout(next, Math.max(intervalMs, 4 * (performance.now() - began)))
  }
  next()
}

async function attempt(action) {
  try {
    await action()
  } catch (error) {
    if (error instanceof Refused) refused(error)
    else if (!(error instanceof TypeError || error.name === 'TimeoutError')) throw error // the event stream reports that the broker is unreachable
  }
}

function refused(error) {
  at('refused').textContent = error.message
  at('refused').className = 'bad'
  if (error.status === 401) {
    at('login').hidden = false
    at('cluster-view').hidden = true
    at('login').token.focus()
  }
}

async function act(method, path, body) {
  at('refused').textContent = ''
  await attempt(() => request(path, method, body))
  stale.groups = stale.group = true
  await attempt(refreshLaboratory)
}

async function refreshGroups() {
  if (!stale.groups) return
  stale.groups = false
  groups = await request('overview/groups')
  at('cluster-view').hidden = false
  list.show(groups, at('filter').value, chosen)
}

async function refreshGlance() {
  const rows = await request('overview/summary')
  if (!byHand) {
    const worst = rows[0]?.id ?? groups[0]?.id ?? null
    if (chosen === null || (rows.length && isMoving(rows[0].state) && !isMoving(group?.state))) show(worst)
  }
  showGlance(at('glance'), rows, chosen, open)
}

async function refreshGroup() {
  if (!stale.group) return
  stale.group = false
  const id = chosen
  if (id === null) {
    showGroup(at('group'), group = null, () => clock, timers)
    showRebalances(at('rebalances'), null)
    return showOwnership(at('owners'), null, 0)
  }
  const overview = await request('overview?groups=' + encodeURIComponent(exactly(id)))
  const exists = overview.groups.length > 0
  const history = exists ? await request(`groups/${encodeURIComponent(id)}/history?last=12`) : []
  if (id !== chosen) return
  clock = overview
  group = exists ? overview.groups[0] : {
    id, type: '', state: 'Dead', generation: 0, assignment_epoch: 0, protocol: '', coordinator: null, members: [], waits: [], lags: {}, shared: [], dead_letter_topic: null}
  if (!ownerships.has(id)) ownerships.set(id, new Ownership())
  ownerships.get(id).note(overview.now_ms, group)
  showGroup(at('group'), group, () => clock, timers)
  timers.forEach(update => update())
  showRebalances(at('rebalances'), history)
  showOwnership(at('owners'), group.type === 'share' ? null : ownerships.get(id), overview.now_ms) // in a share group several members have a partition
}

async function refreshLaboratory() {
  const [overview, gates, faults] = await Promise.all([request('overview?groups='), request('gates'), request('faults')])
  if (!stops.length) stops = await request('gates/points')
  clock = overview
  at('cluster').textContent = `${overview.brokers} broker${overview.brokers === 1 ? '' : 's'}, ${groups.length} group${groups.length === 1 ? '' : 's'}`
  showClock(at('clock'), {now_ms: clock.now_ms, paused: clock.paused, scale: clock.scale}, act, paths)
  showGates(at('gates'), gates, stops, act)
  showFaults(at('faults'), faults, act, paths)
  if (paths.has('/topics')) await refreshTopics() // a proxy has none
  if (group !== null && !clock.paused) stale.group = true // timers, lag and owners change without events
}

async function refreshTopics() {
  const topics = await request('topics')
  showTopics(at('topics'), topics, topic, openTopic)
  const opened = topics.find(each => each.name === topic) ?? null
  showTopic(at('topic'), opened)
  showTopicForms(at('topic-forms'), opened, {browse, append})
  const shown = group?.state === 'Dead' ? null : group
  showOffsets(at('offsets'), shown, shown && await request(`groups/${encodeURIComponent(shown.id)}/lag`), act)
}

function openTopic(name) {
  topic = name
  showRecords(at('records'), null)
  attempt(refreshTopics)
}

const browse = form => attempt(async () => {
  const query = new URLSearchParams({partition: form.get('partition'), offset: form.get('offset') || 0, limit: form.get('limit') || 20})
  if (form.get('since')) query.set('since_ms', new Date(form.get('since')).getTime()) // in the browser's time zone
  if (form.get('key')) query.set('key', form.get('key'))
  const records = await request(`topics/${encodeURIComponent(topic)}/records?${query}`)
  showRecords(at('records'), records.filter(record => contains(record, form.get('text'))))
})

const append = form => attempt(async () => {
  const headers = parsed(form.get('headers'))
  await act('POST', `topics/${encodeURIComponent(topic)}/records`, {
    values: [form.get('value')], key: form.get('key') || null, partition: Number(form.get('partition')), headers})
})

/** Return the headers that a user has entered. Throws Refused if they are not a JSON object. */
function parsed(text) {
  try {
    return text ? JSON.parse(text) : {}
  } catch {
    throw new Refused(422, `headers must be a JSON object, as in {"trace": "7"}; got ${text}`)
  }
}

function updateEvents() {
  if (!stale.events) return
  stale.events = false
  showEvents(at('events'), events, chosen)
}

function onEvent(event) {
  if (event.boot_id !== boot) {
    if (boot !== null) events = []
    boot = event.boot_id
  }
  if (COUNTED_ONLY.includes(event.kind)) return
  events.push(event)
  if (events.length > 2 * KEPT_EVENTS) events = events.slice(-KEPT_EVENTS)
  stale.events = stale.groups = true
  if (event.group_id === chosen) stale.group = true
}

function up() {
  lostSince = null
  at('connection').textContent = ''
  at('connection').className = ''
  at('refused').textContent = ''
  at('login').hidden = true
  stale = {groups: true, group: true, events: true}
  attempt(loadPastEvents)
}

function down(error) {
  if (error instanceof Refused) return refused(error)
  lostSince ??= new Date()
  at('connection').textContent = `No response since ${lostSince.toTimeString().slice(0, 8)}; the data shown are older. Reconnecting.`
  at('connection').className = 'lost'
}

function choose() {
  const parameters = new URLSearchParams(location.hash.slice(1))
  if (parameters.has('token')) {
    setToken(parameters.get('token'))
    parameters.delete('token')
    history.replaceState(null, '', parameters.size ? '#' + parameters : location.pathname)
  }
  byHand = parameters.has('group')
  show(byHand ? parameters.get('group') : chosen)
}

function show(id) {
  chosen = id
  stale.group = stale.events = true
  list.show(groups, at('filter').value, chosen)
  document.title = chosen === null ? 'kohort' : `${chosen} - kohort`
}

/** Load events from before the page was opened. */
async function loadPastEvents() {
  const past = await request('events/past?last=' + PAST_EVENTS)
  const latest = past.at(-1)?.boot_id
  if (latest !== undefined && latest !== boot) {
    events = []
    boot = latest
  }
  const received = new Set(events.map(event => event.event_id))
  events = [...past.filter(event => !received.has(event.event_id) && !COUNTED_ONLY.includes(event.kind)), ...events]
  stale.events = true
}

at('filter').addEventListener('input', () => list.show(groups, at('filter').value, chosen))
at('login').addEventListener('submit', event => {
  event.preventDefault()
  setToken(at('login').token.value)
  follow(onEvent, up, down)
})
document.addEventListener('keydown', event => {
  if (event.key === '/' && !['INPUT', 'SELECT'].includes(document.activeElement.tagName)) {
    event.preventDefault()
    at('filter').focus()
  }
})
addEventListener('hashchange', choose)

choose()
follow(onEvent, up, down)
repeat(LIST_MS, refreshGroups)
repeat(GLANCE_MS, refreshGlance)
repeat(GROUP_MS, refreshGroup)
repeat(LABORATORY_MS, refreshLaboratory)
setInterval(() => { if (!document.hidden) { updateEvents(); timers.forEach(update => update()) } }, TIMERS_MS)
