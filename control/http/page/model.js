// Calculations for the page that do not use the document (tested by tests/control/test_page_in_a_browser.py).

/** Format a duration. */
export function duration(ms) {
  if (ms === null || ms === undefined) return ''
  if (ms < 1_000) return Math.round(ms) + ' ms'
  if (ms < 60_000) return (ms / 1_000).toFixed(1) + ' s'
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor(seconds / 60) % 60} min`
}

/** Format numbers as ranges: `0-3, 7`. */
export function ranges(numbers) {
  const parts = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else parts.push([number, number])
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}

/** Return a pattern that matches only this name, with * ? [ escaped. */
export function exactly(name) {
  return name.replace(/[*?[]/g, special => `[${special}]`)
}

/** Return the display name of a member. */
export function displayName(member) {
  return member.instance_id || member.client_id || member.member_id
}

/** Return whether a group is between two assignments. */
export function isMoving(state) {
  return ['PreparingRebalance', 'CompletingRebalance', 'Assigning', 'Reconciling'].includes(state)
}

/** Return the groups whose id contains `part`, sorted: those that are rebalancing first, then by name. */
export function listed(groups, part = '') {
  const text = part.toLowerCase()
  return groups
    .filter(group => group.id.toLowerCase().includes(text))
    .sort((a, b) => isMoving(b.state) - isMoving(a.state) || (a.id < b.id ? -1 : 1))
}

/** Return how many members have reached the phase of the group: [count, total, verb]. */
export function progress(group) {
  const all = group.members.length
  const count = test => group.members.filter(test).length
  if (group.state === 'PreparingRebalance') return [count(member => member.waits_for === 'join'), all, 'have joined']
  if (group.state === 'CompletingRebalance') return [count(member => member.waits_for === 'sync'), all, 'wait for their assignment']
  if (group.state === 'Reconciling') return [count(member => member.epoch === group.assignment_epoch), all, 'have reached the target']
  return null
}

/** Return the remaining time of a timer on the brokers' clock, `sinceMs` after it was received. */
export function remaining(ms, clock, sinceMs) {
  return ms === null ? null : Math.max(0, ms - (clock.paused ? 0 : sinceMs * clock.scale))
}

/** History of the owners of each partition, from consecutive states of the group. */
export class Ownership {
  constructor(windowMs = 15 * 60_000) {
    this.windowMs = windowMs
    this.partitions = new Map() // "topic-3" to [{owner, fromMs, toMs}]; toMs is null for the current owner
    this.states = [] // [{state, fromMs, toMs}]
    this.beganMs = null
    this.notedMs = null
  }

  /** Record the current state of a group. */
  note(nowMs, group) {
    if (this.notedMs === null || nowMs < this.notedMs) this.forget(nowMs)
    this.notedMs = nowMs
    const owners = new Map()
    for (const member of group.members) {
      for (const had of [member.revoking, member.partitions]) {
        for (const [topic, numbers] of Object.entries(had)) {
          for (const number of numbers) owners.set(`${topic}-${number}`, displayName(member))
        }
      }
    }
    for (const key of owners.keys()) if (!this.partitions.has(key)) this.partitions.set(key, [])
    for (const [key, spans] of this.partitions) change(spans, 'owner', owners.get(key) ?? null, nowMs)
    change(this.states, 'state', group.state, nowMs)
    this.drop(nowMs - this.windowMs)
  }

  /** Clear the history, because the broker was restarted, and its clock with it. */
  forget(nowMs) {
    this.partitions.clear()
    this.states = []
    this.beganMs = nowMs
  }

  drop(beforeMs) {
    if (beforeMs <= this.beganMs) return
    this.beganMs = beforeMs
    const keep = span => span.toMs === null || span.toMs > beforeMs
    this.states = this.states.filter(keep)
    for (const [key, spans] of this.partitions) {
      const kept = spans.filter(keep)
      if (kept.length) this.partitions.set(key, kept)
      else this.partitions.delete(key)
    }
  }

  /** Return the partitions in the order of their topics and numbers. */
  rows() {
    const split = key => [key.slice(0, key.lastIndexOf('-')), Number(key.slice(key.lastIndexOf('-') + 1))]
    return [...this.partitions].sort(([a], [b]) => {
      const [topicA, numberA] = split(a), [topicB, numberB] = split(b)
      return topicA === topicB ? numberA - numberB : topicA < topicB ? -1 : 1
    })
  }
}

function change(spans, field, value, nowMs) {
  const last = spans.at(-1)
  if (last && last.toMs === null) {
    if (last[field] === value) return
    last.toMs = nowMs
  }
  if (value !== null) spans.push({[field]: value, fromMs: nowMs, toMs: null})
}
