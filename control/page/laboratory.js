// What one may do to the brokers: their clock, gates, faults; and what happened.

import {fill, h, name, visible} from './dom.js'
import {duration} from './model.js'

const ACTS = {
  drop: null, hold: null, lose_response: null, close: null, delay: 'seconds', delay_response: 'seconds', error: 'name', zombie: null,
}
const APIS = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'ConsumerGroupHeartbeat', 'OffsetCommit', 'OffsetFetch',
  'FindCoordinator', 'Metadata', 'Fetch', 'Produce'] // suggested; any other may be typed
const MOST_EVENTS = 200

const NEEDS = {zombie: '/leaders/{topic}/{partition}'} // what happens only where that path is served: a proxy moves no leaders

/** Show the clock, and the buttons that pause and move it where they are served. `act(method, path, body)` sends a request. */
export function showClock(section, clock, act, paths) {
  fill(section, {...clock, now_ms: null}, () => [
    h('h2', {}, 'Clock'),
    h('p', {}, clock.paused ? 'It stands still: no timer ends. ' : clock.scale === 1 ? 'It runs. ' : `It runs ${clock.scale} times as fast. `,
      h('span', {id: 'now', class: 'soft'})),
    !paths.has('/clock/advance') ? null : h('form', {onsubmit: sent(form => act('POST', 'clock/advance', {seconds: Number(form.get('seconds'))}))},
      clock.paused
        ? h('button', {type: 'button', 'data-key': 'run', onclick: () => act('POST', 'clock/run')}, 'Go on')
        : h('button', {type: 'button', 'data-key': 'run', onclick: () => act('POST', 'clock/pause')}, 'Pause'),
      h('button', {'data-key': 'advance'}, 'Advance by'),
      h('label', {}, 'seconds', h('input', {name: 'seconds', type: 'number', min: 0, step: 'any', value: 10, 'data-key': 'seconds'}))),
    h('form', {onsubmit: sent(() => act('POST', 'reset'))}, h('button', {'data-key': 'reset'}, 'End all rules, open all gates')),
  ])
  const now = section.querySelector('#now')
  if (now) now.textContent = `${duration(clock.now_ms)} since the start`
}

/** The gates that hold, who waits there, and a form for another one. */
export function showGates(section, gates, stops, act) {
  fill(section, [gates, stops], () => [
    h('h2', {}, 'Gates'),
    gates.length ? gates.map(gate => held(gate, act)) : h('p', {class: 'soft'}, 'None holds.'),
    h('form', {onsubmit: sent(form => act('POST', 'gates', {name: form.get('name'), group: form.get('group') || null}))},
      h('label', {}, 'hold at', h('select', {name: 'name', 'data-key': 'gate'},
        stops.map(each => h('option', {value: each.name, title: each.about}, each.name)))),
      h('label', {}, 'group', h('input', {name: 'group', placeholder: 'every one', 'data-key': 'gate group'})),
      h('button', {'data-key': 'hold'}, 'Hold')),
  ])
}

function held(gate, act) {
  const query = gate.group === null ? '' : '?group=' + encodeURIComponent(gate.group)
  const at = `gates/${encodeURIComponent(gate.name)}`
  const key = `${gate.name} ${gate.group}`
  return h('div', {},
    h('h3', {}, gate.name, gate.group === null ? '' : [' of ', name(gate.group)]),
    h('ul', {class: 'plain'}, gate.held.length
      ? gate.held.map(each => h('li', {}, name(each.text, 90), ' ', each.member || each.client_id
        ? h('button', {'data-key': `release ${key} ${each.text}`, onclick: () => act('POST', `${at}/release${query}`, {who: each.member || each.client_id})}, 'Let through')
        : null))
      : h('li', {class: 'soft'}, 'nobody waits')),
    h('button', {'data-key': `all ${key}`, onclick: () => act('POST', `${at}/release${query}`, {who: null})}, 'Let all through'), ' ',
    h('button', {'data-key': `open ${key}`, onclick: () => act('DELETE', at + query)}, 'Open'))
}

/** The rules at work, and a form for another one. */
export function showFaults(section, rules, act, paths) {
  fill(section, rules, () => {
    const value = h('input', {name: 'value', placeholder: 'seconds, or an error', 'data-key': 'value'})
    return [
      h('h2', {}, 'Faults'),
      h('ul', {class: 'plain'}, rules.length
        ? rules.map(rule => h('li', {}, visible(rule.text), h('span', {class: 'soft'}, ` acted ${rule.acted} of ${rule.seen} times `),
          h('button', {'data-key': `end ${rule.number}`, onclick: () => act('DELETE', `faults/${rule.number}`)}, 'End')))
        : h('li', {class: 'soft'}, 'No rule is at work.')),
      h('form', {onsubmit: sent(form => act('POST', 'faults', rule(form)))},
        h('datalist', {id: 'apis'}, APIS.map(each => h('option', {value: each}))),
        h('label', {}, 'request', h('input', {name: 'api', list: 'apis', placeholder: 'any', 'data-key': 'api'})),
        h('label', {}, 'client id', h('input', {name: 'client_id', placeholder: 'anybody', 'data-key': 'client'})),
        h('label', {}, 'group', h('input', {name: 'group', placeholder: 'every one', 'data-key': 'fault group'})),
        h('label', {}, 'what happens', h('select', {name: 'do', 'data-key': 'do'}, Object.keys(ACTS).filter(each => !NEEDS[each] || paths.has(NEEDS[each])).map(each => h('option', {value: each}, each.replaceAll('_', ' '))))),
        h('label', {}, 'with', value),
        h('label', {}, 'times', h('input', {name: 'times', type: 'number', min: 1, placeholder: 'always', 'data-key': 'times'})),
        h('button', {'data-key': 'add'}, 'Make a rule')),
    ]
  })
}

function rule(form) {
  const given = names => Object.fromEntries(names.map(each => [each, form.get(each)]).filter(([, value]) => value))
  const argument = ACTS[form.get('do')]
  const value = form.get('value')
  const seconds = argument === 'seconds' ? Number(value) : value
  return {
    match: given(['api', 'client_id', 'group']),
    do: form.get('do'),
    with: argument && value ? {[argument]: seconds} : {},
    times: form.get('times') ? Number(form.get('times')) : null,
  }
}

function sent(act) {
  return event => {
    event.preventDefault()
    act(new FormData(event.target))
  }
}

/** The last events, the newest first; of one group, where one is chosen. */
export function showEvents(section, events, group) {
  const last = events.filter(each => group === null || each.group_id === group).slice(-MOST_EVENTS).reverse()
  fill(section, [group, last.map(each => each.event_id)], () => [
    h('h2', {}, 'Events'),
    h('ol', {class: 'log', tabindex: 0, 'aria-label': 'the newest first', 'data-key': 'log'}, last.length
      ? last.map(each => h('li', {}, line(each, group)))
      : h('li', {class: 'soft'}, group === null ? 'Nothing has happened since this page was opened.' : 'Nothing has happened to this group since this page was opened.')),
  ])
}

/** Which records of a share group an event is about, or where the group begins now. */
function records(detail) {
  if (detail?.topic === undefined) return ''
  const where = [' ', name(detail.topic, 30), `-${detail.partition}`]
  if (detail.first_offset === undefined) return [...where, ` from ${detail.from} to ${detail.to}`]
  return [...where, detail.first_offset === detail.last_offset ? ` ${detail.first_offset}` : ` ${detail.first_offset}-${detail.last_offset}`]
}

function line(event, group) {
  const words = text => text.replaceAll('_', ' ')
  const who = event.instance_id || event.client_id || event.member_id
  return [
    h('time', {class: 'soft'}, new Date(event.ts).toISOString().slice(11, 23)), ' ', words(event.kind),
    group === null && event.group_id ? [' ', name(event.group_id, 30)] : '',
    who ? [' ', name(who, 30)] : '',
    records(event.detail),
    event.cause ? ` (${words(event.cause)})` : '',
    event.error ? ` ${event.error}` : '',
    event.generation === undefined || event.generation === null ? '' : ` ${event.generation}`,
    event.duration_us ? ` after ${duration(event.duration_us / 1_000)}` : '',
  ]
}
