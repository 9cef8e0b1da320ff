// One group: what it waits for, its members and their timers, and its last rebalances.

import {fill, h, name} from './dom.js'
import {stateClass} from './groups.js'
import {calledBy, duration, left, progress, ranges} from './model.js'

const MOST_MEMBERS = 200, MOST_PARTITIONS = 200

/** Draws a group. `timers` gets a function for each timer, called again and again to let it run down. */
export function showGroup(section, group, clock, timers) {
  fill(section, group, () => {
    timers.length = 0
    if (group === null) return h('p', {class: 'soft'}, 'Choose a group. New ones appear in the list as soon as somebody joins.')
    const count = group.type !== 'classic' ? 'epoch' : 'generation'
    return [
      h('h2', {}, name(group.id, 80), ' ', h('span', {class: stateClass(group.state)}, group.state)),
      h('p', {class: 'soft'}, `${group.type || 'no'} group, ${count} ${group.generation}`
        + (group.protocol ? `, assignor ${group.protocol}` : '')
        + (group.coordinator === null ? ', nobody coordinates it' : `, coordinator ${group.coordinator}`)),
      barrier(group),
      group.waits.map(wait => waiting(wait, clock, timers)),
      members(group, clock, timers),
      shared(group),
    ]
  })
}

function barrier(group) {
  const found = progress(group)
  if (found === null || found[1] === 0) return null
  const [there, all, done] = found
  const text = `${there} of ${all} members ${done}`
  return h('p', {}, h('progress', {value: there, max: all, 'aria-label': text}), ' ', text)
}

function waiting(wait, clock, timers) {
  const time = h('span')
  const asked = performance.now()
  timers.push(() => {
    const ms = left(wait.ends_in_ms, clock(), performance.now() - asked)
    time.textContent = ms === null ? 'no timer is known to end this' : ms > 0 ? 'in ' + duration(ms) : 'now'
  })
  const whom = wait.for_whom.flatMap((each, at) => [at ? ', ' : '', name(each)])
  return h('p', {class: 'waits'}, 'Waits for ', whom, whom.length ? ' ' : '', wait.what, '; ', time, ': ', wait.then)
}

function members(group, clock, timers) {
  if (!group.members.length) return h('p', {class: 'soft'}, 'Nobody is in it.')
  const shown = group.members.slice(0, MOST_MEMBERS)
  const rest = group.members.length - shown.length
  return [
    h('div', {class: 'scroll'}, h('table', {},
      h('caption', {}, `${group.members.length} members` + (rest ? `, the first ${shown.length} are listed` : '')),
      h('thead', {}, h('tr', {}, ['member', 'host', 'waits for', 'session ends', 'has', 'lag'].map(each => h('th', {scope: 'col'}, each)))),
      h('tbody', {}, shown.map(each => member(each, group, clock, timers))))),
  ]
}

function member(each, group, clock, timers) {
  const session = h('td')
  const asked = performance.now()
  timers.push(() => {
    const ms = left(each.session_ends_in_ms, clock(), performance.now() - asked)
    session.textContent = ms === null ? '' : duration(ms)
  })
  return h('tr', {},
    h('th', {scope: 'row'}, name(calledBy(each)), group.type === 'consumer' || group.type === 'share' ? h('span', {class: 'soft'}, ` ${each.speaks}, epoch ${each.epoch}`) : null),
    h('td', {}, each.client_host),
    h('td', {}, each.waits_for, each.is_alive ? null : h('span', {class: 'gone'}, ' nobody is there')),
    session,
    h('td', {}, partitions(each.partitions), each.tasks ? h('span', {class: 'soft'}, h('br'), name(each.tasks)) : null, gap(each)),
    h('td', {class: 'n'}, lag(each, group.lags)))
}

function partitions(byTopic) {
  return Object.entries(byTopic).map(([topic, numbers], at) => [at ? h('br') : null, name(topic), ' ' + ranges(numbers)])
}

function gap(each) {
  return Object.keys(each.revoking).length ? h('span', {class: 'gone'}, h('br'), 'gives up ', partitions(each.revoking)) : null
}

function lag(each, lags) {
  let sum = null
  for (const [topic, numbers] of Object.entries(each.partitions)) {
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
    h('caption', {}, 'records that members share out'),
    h('thead', {}, h('tr', {}, ['partition', 'begins at', 'held', 'to be had again', 'lag', 'leader', 'fetched by'].map(each => h('th', {scope: 'col'}, each)))),
    h('tbody', {}, group.shared.slice(0, MOST_PARTITIONS).map(each => h('tr', {},
      h('th', {scope: 'row'}, name(each.topic), ` ${each.partition}`),
      number(each.start_offset), number(each.acquired), number(each.available), number(each.lag),
      h('td', {}, each.leader === null ? 'nobody' : each.progress === 'active' ? `node ${each.leader}` : `node ${each.leader}, ${each.progress}`),
      h('td', {}, fetchers(group, each)))))))
}

/** Who fetches from a partition, as people call them. */
function fetchers(group, partition) {
  const called = new Map(group.members.map(each => [each.member_id, calledBy(each)]))
  return partition.fetched_by.flatMap((id, at) => [at ? ', ' : '', name(called.get(id) ?? id)])
}

/** The last rebalances: why, who, how long each phase took, what it moved. */
export function showRebalances(section, history) {
  fill(section, history, () => {
    if (!history?.length) return []
    const last = history.toReversed()
    const longest = Math.max(1, ...last.map(each => (each.prepare_ms ?? 0) + (each.complete_ms ?? 0)))
    return [h('h2', {}, 'Rebalances'), h('div', {class: 'scroll'}, h('table', {},
      h('caption', {}, `the last ${last.length}, the newest first`),
      h('thead', {}, h('tr', {}, ['', 'cause', 'whose doing', 'took', 'waited for', 'moved'].map(each => h('th', {scope: 'col'}, each)))),
      h('tbody', {}, last.map(each => rebalance(each, longest)))))]
  })
}

function rebalance(each, longest) {
  const took = (each.prepare_ms ?? 0) + (each.complete_ms ?? 0)
  const bar = h('span', {class: 'bar', 'aria-hidden': 'true'}, ['prepare', 'complete'].map(phase => {
    const part = h('i', {class: phase})
    part.style.width = `${100 * (each[phase + '_ms'] ?? 0) / longest}%`
    return part
  }))
  return h('tr', {},
    h('td', {class: 'n'}, String(each.generation)),
    h('td', {}, each.cause, each.outcome === 'completed' ? null : h('span', {class: 'soft'}, ` (${each.outcome})`)),
    h('td', {}, name(each.actor)),
    h('td', {}, bar, each.prepare_ms === null ? '' : duration(took)),
    h('td', {}, each.laggard ? [name(each.laggard), each.laggard_ms === null ? '' : ' ' + duration(each.laggard_ms)] : ''),
    h('td', {class: 'n'}, each.moved === null ? '' : String(each.moved)))
}
