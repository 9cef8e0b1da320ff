// The page: what happens is heard at once, what is shown is asked for anew, a few times a second and only if needed.

import {ask, follow, Refused, setToken} from './api.js'
import {showGlance} from './glance.js'
import {showGroup, showRebalances} from './group.js'
import {GroupList} from './groups.js'
import {showClock, showEvents, showFaults, showGates} from './laboratory.js'
import {exactly, isMoving, Ownership} from './model.js'
import {paths} from './offers.js'
import {showOwnership} from './ownership.js'

const COUNTED_ONLY = ['heartbeat_stats', 'commit_stats']
const KEPT_EVENTS = 5_000
const PAST_EVENTS = 500
const LIST_MS = 500, GLANCE_MS = 1_000, GROUP_MS = 250, LABORATORY_MS = 1_000, TIMERS_MS = 200

const at = id => document.getElementById(id)
const open = id => { location.hash = 'group=' + encodeURIComponent(id) }
const list = new GroupList(at('groups'), at('count'), open)
const timers = []
const seen = new Map() // group id to Ownership
let byHand = false // whether somebody has chosen the group that is open, or the page: the most troubled one
let groups = [], group = null, chosen = null, events = [], stops = []
let clock = {now_ms: 0, paused: false, scale: 1}
let lostSince = null, boot = null
let stale = {groups: true, group: true, events: true}

/** Calls something now and then, never twice at a time, and less often where it takes long. */
function nowAndThen(every, what) {
  const next = async () => {
    const began = performance.now()
    if (!document.hidden && lostSince === null) await tried(what)
    setTimeout(next, Math.max(every, 4 * (performance.now() - began)))
  }
  next()
}

async function tried(what) {
  try {
    await what()
  } catch (problem) {
    if (problem instanceof Refused) refused(problem)
    else if (!(problem instanceof TypeError || problem.name === 'TimeoutError')) throw problem // the stream says that nobody answers
  }
}

function refused(problem) {
  at('refused').textContent = problem.message
  at('refused').className = 'bad'
  if (problem.status === 401) {
    at('login').hidden = false
    at('cluster-view').hidden = true
    at('login').token.focus()
  }
}

async function act(method, path, body) {
  at('refused').textContent = ''
  await tried(() => ask(path, method, body))
  stale.groups = stale.group = true
  await refreshLaboratory()
}

async function refreshGroups() {
  if (!stale.groups) return
  stale.groups = false
  groups = await ask('overview/groups')
  at('cluster-view').hidden = false
  list.show(groups, at('filter').value, chosen)
}

async function refreshGlance() {
  const rows = await ask('overview/summary')
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
  const overview = await ask('overview?groups=' + encodeURIComponent(exactly(id)))
  const isThere = overview.groups.length > 0
  const history = isThere ? await ask(`groups/${encodeURIComponent(id)}/history?last=12`) : []
  if (id !== chosen) return
  clock = overview
  group = isThere ? overview.groups[0] : {
    id, type: '', state: 'Dead', generation: 0, assignment_epoch: 0, protocol: '', coordinator: null, members: [], waits: [], lags: {}, shared: []}
  if (!seen.has(id)) seen.set(id, new Ownership())
  seen.get(id).note(overview.now_ms, group)
  showGroup(at('group'), group, () => clock, timers)
  timers.forEach(each => each())
  showRebalances(at('rebalances'), history)
  showOwnership(at('owners'), group.type === 'share' ? null : seen.get(id), overview.now_ms) // there several have a partition
}

async function refreshLaboratory() {
  const [overview, gates, faults] = await Promise.all([ask('overview?groups='), ask('gates'), ask('faults')])
  if (!stops.length) stops = await ask('gates/points')
  clock = overview
  at('cluster').textContent = `${overview.brokers} broker${overview.brokers === 1 ? '' : 's'}, ${groups.length} group${groups.length === 1 ? '' : 's'}`
  showClock(at('clock'), {now_ms: clock.now_ms, paused: clock.paused, scale: clock.scale}, act, paths)
  showGates(at('gates'), gates, stops, act)
  showFaults(at('faults'), faults, act, paths)
  if (group !== null && !clock.paused) stale.group = true // timers, lag, and who owns what go on without events
}

function showTheEvents() {
  if (!stale.events) return
  stale.events = false
  showEvents(at('events'), events, chosen)
}

function hear(event) {
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
  tried(hearThePast)
}

function down(problem) {
  if (problem instanceof Refused) return refused(problem)
  lostSince ??= new Date()
  at('connection').textContent = `Nobody answers since ${lostSince.toTimeString().slice(0, 8)}; what is shown is from before. Trying again.`
  at('connection').className = 'lost'
}

function choose() {
  const words = new URLSearchParams(location.hash.slice(1))
  if (words.has('token')) {
    setToken(words.get('token'))
    words.delete('token')
    history.replaceState(null, '', words.size ? '#' + words : location.pathname)
  }
  byHand = words.has('group')
  show(byHand ? words.get('group') : chosen)
}

function show(id) {
  chosen = id
  stale.group = stale.events = true
  list.show(groups, at('filter').value, chosen)
  document.title = chosen === null ? 'kohort' : `${chosen} - kohort`
}

/** What happened before somebody looked. */
async function hearThePast() {
  const past = await ask('events/past?last=' + PAST_EVENTS)
  const latest = past.at(-1)?.boot_id
  if (latest !== undefined && latest !== boot) {
    events = []
    boot = latest
  }
  const heard = new Set(events.map(each => each.event_id))
  events = [...past.filter(each => !heard.has(each.event_id) && !COUNTED_ONLY.includes(each.kind)), ...events]
  stale.events = true
}

at('filter').addEventListener('input', () => list.show(groups, at('filter').value, chosen))
at('login').addEventListener('submit', event => {
  event.preventDefault()
  setToken(at('login').token.value)
  follow(hear, up, down)
})
document.addEventListener('keydown', event => {
  if (event.key === '/' && !['INPUT', 'SELECT'].includes(document.activeElement.tagName)) {
    event.preventDefault()
    at('filter').focus()
  }
})
addEventListener('hashchange', choose)

choose()
follow(hear, up, down)
nowAndThen(LIST_MS, refreshGroups)
nowAndThen(GLANCE_MS, refreshGlance)
nowAndThen(GROUP_MS, refreshGroup)
nowAndThen(LABORATORY_MS, refreshLaboratory)
setInterval(() => { if (!document.hidden) { showTheEvents(); timers.forEach(each => each()) } }, TIMERS_MS)
