// What is shown, worked out without a page: node plays its tests (tests/control/page).

/** A length of time as people say it. */
export function duration(ms) {
  if (ms === null || ms === undefined) return ''
  if (ms < 1_000) return Math.round(ms) + ' ms'
  if (ms < 60_000) return (ms / 1_000).toFixed(1) + ' s'
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor(seconds / 60) % 60} min`
}

/** `0-3, 7`: numbers with neighbours joined. */
export function ranges(numbers) {
  const parts = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1)
    if (last && last[1] === number - 1) last[1] = number
    else parts.push([number, number])
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}

/** A pattern that matches this name only, where * ? [ mean something. */
export function exactly(name) {
  return name.replace(/[*?[]/g, found => `[${found}]`)
}

/** Whom people mean by a member. */
export function calledBy(member) {
  return member.instance_id || member.client_id || member.member_id
}

/** Whether a group is between two assignments. */
export function isMoving(state) {
  return ['PreparingRebalance', 'CompletingRebalance', 'Assigning', 'Reconciling'].includes(state)
}

/** Groups as they are listed: those that rebalance first, then by name; those whose name has `part` in it. */
export function listed(groups, part = '') {
  const wanted = part.toLowerCase()
  return groups
    .filter(each => each.id.toLowerCase().includes(wanted))
    .sort((a, b) => isMoving(b.state) - isMoving(a.state) || (a.id < b.id ? -1 : 1))
}

/** How many members have come as far as the group: [how many, of how many, what they have done]. */
export function progress(group) {
  const all = group.members.length
  const count = test => group.members.filter(test).length
  if (group.state === 'PreparingRebalance') return [count(each => each.waits_for === 'join'), all, 'have joined']
  if (group.state === 'CompletingRebalance') return [count(each => each.waits_for === 'sync'), all, 'wait for their share']
  if (group.state === 'Reconciling') return [count(each => each.epoch === group.assignment_epoch), all, 'have reached the target']
  return null
}

/** What is left of a timer, on the brokers' clock, since it was asked for. */
export function left(ms, clock, sinceMs) {
  return ms === null ? null : Math.max(0, ms - (clock.paused ? 0 : sinceMs * clock.scale))
}

/** Who had each partition when, from what was seen one after the other. */
export class Ownership {
  constructor(longestMs = 15 * 60_000) {
    this.longestMs = longestMs
    this.partitions = new Map() // "topic-3" to [{owner, fromMs, toMs}]; toMs null: still
    this.states = [] // [{state, fromMs, toMs}]
    this.beganMs = null
    this.seenMs = null
  }

  /** Notes how a group is now. */
  note(nowMs, group) {
    if (this.seenMs === null || nowMs < this.seenMs) this.forget(nowMs)
    this.seenMs = nowMs
    const owners = new Map()
    for (const member of group.members) {
      for (const had of [member.revoking, member.partitions]) {
        for (const [topic, numbers] of Object.entries(had)) {
          for (const number of numbers) owners.set(`${topic}-${number}`, calledBy(member))
        }
      }
    }
    for (const key of owners.keys()) if (!this.partitions.has(key)) this.partitions.set(key, [])
    for (const [key, spans] of this.partitions) change(spans, 'owner', owners.get(key) ?? null, nowMs)
    change(this.states, 'state', group.state, nowMs)
    this.drop(nowMs - this.longestMs)
  }

  /** Begins anew: the broker was started again, and its clock with it. */
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

  /** Partitions in the order of their topics and numbers. */
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
