// Details of one group: what it waits for, its members and their timers, and its latest rebalances.

import {fill, h, name} from './dom.js'
import {stateClass} from './groups.js'
import {displayName, duration, progress, ranges, remaining} from './model.js'

const MAX_MEMBERS = 200, MAX_PARTITIONS = 200

/** Show a group. A function for each timer is added to `timers`; it must be called regularly to update the display. */
export function showGroup(section, group, clock, timers) {
  fill(section, group, () => {
    timers.length = 0
    if (group === null) return h('p', {class: 'soft'}, 'Choose a group. New groups appear in the list when a member joins.')
    const count = group.type !== 'classic' ? 'epoch' : 'generation'
    return [
      h('h2', {}, name(group.id, 80), ' ', h('span', {class: stateClass(group.state)}, group.state)),
      h('p', {class: 'soft'}, `${group.type || 'no'} group, ${count} ${group.generation}`
        + (group.protocol ? `, assignor ${group.protocol}` : '')
        + (group.coordinator === null ? ', no coordinator' : `, coordinator ${group.coordinator}`)),
      barrier(group),
      group.waits.map(wait => waiting(wait, clock, timers)),
      members(group, clock, timers),
      shared(group),
      deadLetters(group.dead_letter_topic),
    ]
  })
}

function barrier(group) {
  const counts = progress(group)
  if (counts === null || counts[1] === 0) return null
  const [ready, all, verb] = counts
  const text = `${ready} of ${all} members ${verb}`
  return h('p', {}, h('progress', {value: ready, max: all, 'aria-label': text}), ' ', text)
}

function waiting(wait, clock, timers) {
  const time = h('span')
  const receivedAt = performance.now()
  timers.push(() => {
    const ms = remaining(wait.ends_in_ms, clock(), performance.now() - receivedAt)
    time.textContent = ms === null ? 'no known timer ends this' : ms > 0 ? 'in ' + duration(ms) : 'now'
  })
  const whom = wait.for_whom.flatMap((member, at) => [at ? ', ' : '', name(member)])
  return h('p', {class: 'waits'}, 'Waits for ', whom, whom.length ? ' ' : '', wait.what, '; ', time, ': ', wait.then)
}

function members(group, clock, timers) {
  if (!group.members.length) return h('p', {class: 'soft'}, 'No members.')
  const listed = group.members.slice(0, MAX_MEMBERS)
  const rest = group.members.length - listed.length
  return [
    h('div', {class: 'scroll'}, h('table', {},
      h('caption', {}, `${group.members.length} members` + (rest ? `, the first ${listed.length} are listed` : '')),
      h('thead', {}, h('tr', {}, ['member', 'host', 'waits for', 'session ends', 'assigned', 'lag'].map(title => h('th', {scope: 'col'}, title)))),
      h('tbody', {}, listed.map(entry => member(entry, group, clock, timers))))),
  ]
}

function member(entry, group, clock, timers) {
  const session = h('td')
  const receivedAt = performance.now()
  timers.push(() => {
    const ms = remaining(entry.session_ends_in_ms, clock(), performance.now() - receivedAt)
    session.textContent = ms === null ? '' : duration(ms)
  })
  return h('tr', {},
    h('th', {scope: 'row'}, name(displayName(entry)), group.type === 'consumer' || group.type === 'share' ? h('span', {class: 'soft'}, ` ${entry.speaks}, epoch ${entry.epoch}`) : null),
    h('td', {}, entry.client_host),
    h('td', {}, entry.waits_for, entry.is_alive ? null : h('span', {class: 'gone'}, ' not connected')),
    session,
    h('td', {}, partitions(entry.partitions), entry.tasks ? h('span', {class: 'soft'}, h('br'), name(entry.tasks)) : null, gap(entry)),
    h('td', {class: 'n'}, lag(entry, group.lags)))
}

function partitions(byTopic) {
  return Object.entries(byTopic).map(([topic, numbers], at) => [at ? h('br') : null, name(topic), ' ' + ranges(numbers)])
}

function gap(entry) {
  return Object.keys(entry.revoking).length ? h('span', {class: 'gone'}, h('br'), 'revoking ', partitions(entry.revoking)) : null
}

function lag(entry, lags) {
  let sum = null
  for (const [topic, numbers] of Object.entries(entry.partitions)) {
    for (const number of numbers) {
      const records = lags[topic]?.[number]
      if (records !== undefined) sum = (sum ?? 0) + records
    }
  }
  return sum === null ? '' : String(sum)
}

function shared(group) {
  if (!group.shared.length) return null
  const number = value => h('td', {class: 'n'}, value === null ? '' : String(value))
  return h('div', {class: 'scroll'}, h('table', {},
    h('caption', {}, 'state of the share partitions'),
    h('thead', {}, h('tr', {}, ['partition', 'start offset', 'acquired', 'available', 'lag', 'leader', 'fetched by'].map(title => h('th', {scope: 'col'}, title)))),
    h('tbody', {}, group.shared.slice(0, MAX_PARTITIONS).map(part => h('tr', {},
      h('th', {scope: 'row'}, h('span', {}, name(part.topic), ` ${part.partition}`)),
      number(part.start_offset), number(part.acquired), number(part.available), number(part.lag),
      h('td', {}, part.leader === null ? 'none' : part.progress === 'active' ? `node ${part.leader}` : `node ${part.leader}, ${part.progress}`),
      h('td', {}, fetchers(group, part)))))))
}

function deadLetters(topic) {
  if (topic === null) return null
  const records = topic.records === null ? 'does not exist' : `has ${topic.records} ${topic.records === 1 ? 'record' : 'records'}`
  return h('p', {}, 'Dead-letter topic ', name(topic.name, 60), ' ', records)
}

/** Return the display names of the members that fetch from a partition. */
function fetchers(group, partition) {
  const names = new Map(group.members.map(entry => [entry.member_id, displayName(entry)]))
  return partition.fetched_by.flatMap((id, at) => [at ? ', ' : '', name(names.get(id) ?? id)])
}

/** Show the latest rebalances: cause, client, duration of each phase, moved partitions. */
export function showRebalances(section, history) {
  fill(section, history, () => {
    if (!history?.length) return []
    const last = history.toReversed()
    const longest = Math.max(1, ...last.map(entry => (entry.prepare_ms ?? 0) + (entry.complete_ms ?? 0)))
    return [h('h2', {}, 'Rebalances'), h('div', {class: 'scroll'}, h('table', {},
      h('caption', {}, `the last ${last.length}, the newest first`),
      h('thead', {}, h('tr', {}, ['', 'cause', 'caused by', 'took', 'waited for', 'moved'].map(title => h('th', {scope: 'col'}, title)))),
      h('tbody', {}, last.map(entry => rebalance(entry, longest)))))]
  })
}

function rebalance(entry, longest) {
  const took = (entry.prepare_ms ?? 0) + (entry.complete_ms ?? 0)
  const bar = h('span', {class: 'bar', 'aria-hidden': 'true'}, ['prepare', 'complete'].map(phase => {
    const part = h('i', {class: phase})
    part.style.width = `${100 * (entry[phase + '_ms'] ?? 0) / longest}%`
    return part
  }))
  return h('tr', {},
    h('td', {class: 'n'}, String(entry.generation)),
    h('td', {}, entry.cause, entry.outcome === 'completed' ? null : h('span', {class: 'soft'}, ` (${entry.outcome})`)),
    h('td', {}, name(entry.actor)),
    h('td', {}, bar, entry.prepare_ms === null ? '' : duration(took)),
    h('td', {}, entry.laggard ? [name(entry.laggard), entry.laggard_ms === null ? '' : ' ' + duration(entry.laggard_ms)] : ''),
    h('td', {class: 'n'}, entry.moved === null ? '' : String(entry.moved)))
}
