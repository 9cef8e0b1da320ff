// Controls of the brokers: clock, gates and faults; and the event list.

import {fill, h, name, visible} from './dom.js'
import {duration} from './model.js'

const ACTS = {
  drop: null, hold: null, lose_response: null, close: null, delay: 'seconds', delay_response: 'seconds', error: 'name', zombie: null,
}
const APIS = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'ConsumerGroupHeartbeat', 'OffsetCommit', 'OffsetFetch',
  'FindCoordinator', 'Metadata', 'Fetch', 'Produce'] // suggestions; other names are accepted
const MAX_EVENTS = 200

const NEEDS = {zombie: '/leaders/{topic}/{partition}'} // actions that require an endpoint: a proxy cannot move leaders

/** Show the clock, and the buttons that pause and move it where they are served. `act(method, path, body)` sends a request. */
export function showClock(section, clock, act, paths) {
  fill(section, {...clock, now_ms: null}, () => [
    h('h2', {}, 'Clock'),
    h('p', {}, clock.paused ? 'Paused: no timer expires. ' : clock.scale === 1 ? 'Running. ' : `Running at ${clock.scale} times the normal speed. `,
      h('span', {id: 'now', class: 'soft'})),
    !paths.has('/clock/advance') ? null : h('form', {onsubmit: sent(form => act('POST', 'clock/advance', {seconds: Number(form.get('seconds'))}))},
      clock.paused
        ? h('button', {type: 'button', 'data-key': 'run', onclick: () => act('POST', 'clock/run')}, 'Resume')
        : h('button', {type: 'button', 'data-key': 'run', onclick: () => act('POST', 'clock/pause')}, 'Pause'),
      h('button', {'data-key': 'advance'}, 'Advance by'),
      h('label', {}, 'seconds', h('input', {name: 'seconds', type: 'number', min: 0, step: 'any', value: 10, 'data-key': 'seconds'}))),
    h('form', {onsubmit: sent(() => act('POST', 'reset'))}, h('button', {'data-key': 'reset'}, 'Remove all rules, open all gates')),
  ])
  const now = section.querySelector('#now')
  if (now) now.textContent = `${duration(clock.now_ms)} since the start`
}

/** Show the closed gates with their waiting requests, and a form for another gate. */
export function showGates(section, gates, stops, act) {
  fill(section, [gates, stops], () => [
    h('h2', {}, 'Gates'),
    gates.length ? gates.map(gate => held(gate, act)) : h('p', {class: 'soft'}, 'No gate is closed.'),
    h('form', {onsubmit: sent(form => act('POST', 'gates', {name: form.get('name'), group: form.get('group') || null}))},
      h('label', {}, 'hold at', h('select', {name: 'name', 'data-key': 'gate'},
        stops.map(stop => h('option', {value: stop.name, title: stop.about}, stop.name)))),
      h('label', {}, 'group', h('input', {name: 'group', placeholder: 'all', 'data-key': 'gate group'})),
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
      ? gate.held.map(request => h('li', {}, name(request.text, 90), ' ', request.member || request.client_id
        ? h('button', {'data-key': `release ${key} ${request.text}`, onclick: () => act('POST', `${at}/release${query}`, {who: request.member || request.client_id})}, 'Release')
        : null))
      : h('li', {class: 'soft'}, 'no waiting requests')),
    h('button', {'data-key': `all ${key}`, onclick: () => act('POST', `${at}/release${query}`, {who: null})}, 'Release all'), ' ',
    h('button', {'data-key': `open ${key}`, onclick: () => act('DELETE', at + query)}, 'Open'))
}

/** Show the active rules, and a form for another rule. */
export function showFaults(section, rules, act, paths) {
  fill(section, rules, () => {
    const value = h('input', {name: 'value', placeholder: 'seconds, or an error', 'data-key': 'value'})
    return [
      h('h2', {}, 'Faults'),
      h('ul', {class: 'plain'}, rules.length
        ? rules.map(rule => h('li', {}, visible(rule.text), h('span', {class: 'soft'}, ` acted ${rule.acted} of ${rule.seen} times `),
          h('button', {'data-key': `end ${rule.number}`, onclick: () => act('DELETE', `faults/${rule.number}`)}, 'Remove')))
        : h('li', {class: 'soft'}, 'No active rules.')),
      h('form', {onsubmit: sent(form => act('POST', 'faults', rule(form)))},
        h('datalist', {id: 'apis'}, APIS.map(api => h('option', {value: api}))),
        h('label', {}, 'request', h('input', {name: 'api', list: 'apis', placeholder: 'any', 'data-key': 'api'})),
        h('label', {}, 'client id', h('input', {name: 'client_id', placeholder: 'any', 'data-key': 'client'})),
        h('label', {}, 'group', h('input', {name: 'group', placeholder: 'all', 'data-key': 'fault group'})),
        h('label', {}, 'action', h('select', {name: 'do', 'data-key': 'do'}, Object.keys(ACTS).filter(action => !NEEDS[action] || paths.has(NEEDS[action])).map(action => h('option', {value: action}, action.replaceAll('_', ' '))))),
        h('label', {}, 'with', value),
        h('label', {}, 'times', h('input', {name: 'times', type: 'number', min: 1, placeholder: 'always', 'data-key': 'times'})),
        h('button', {'data-key': 'add'}, 'Add rule')),
    ]
  })
}

function rule(form) {
  const fields = names => Object.fromEntries(names.map(field => [field, form.get(field)]).filter(([, value]) => value))
  const argument = ACTS[form.get('do')]
  const value = form.get('value')
  const seconds = argument === 'seconds' ? Number(value) : value
  return {
    match: fields(['api', 'client_id', 'group']),
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

/** Show the latest events, the newest first, of one group if it is chosen. */
export function showEvents(section, events, group) {
  const last = events.filter(event => group === null || event.group_id === group).slice(-MAX_EVENTS).reverse()
  fill(section, [group, last.map(event => event.event_id)], () => [
    h('h2', {}, 'Events'),
    h('ol', {class: 'log', tabindex: 0, 'aria-label': 'the newest first', 'data-key': 'log'}, last.length
      ? last.map(event => h('li', {}, line(event, group)))
      : h('li', {class: 'soft'}, group === null ? 'No events since this page was opened.' : 'No events of this group since this page was opened.')),
  ])
}

/** Return the records in an event of a share group and where their dead letter is, or its new start offset. */
function records(detail) {
  if (detail?.topic === undefined) return ''
  const place = [' ', name(detail.topic, 30), `-${detail.partition}`]
  if (detail.first_offset === undefined) return [...place, ` from ${detail.from} to ${detail.to}`]
  const offsets = detail.first_offset === detail.last_offset ? ` ${detail.first_offset}` : ` ${detail.first_offset}-${detail.last_offset}`
  if (detail.reason !== undefined) return [...place, offsets, ': ', name(detail.reason, 120)]
  if (detail.dead_letter_topic !== undefined) return [...place, offsets, ' in ', name(detail.dead_letter_topic, 30), `-${detail.dead_letter_partition}`]
  return [...place, offsets]
}

function line(event, group) {
  const words = text => text.replaceAll('_', ' ')
  const member = event.instance_id || event.client_id || event.member_id
  return [
    h('time', {class: 'soft'}, new Date(event.ts).toISOString().slice(11, 23)), ' ', words(event.kind),
    group === null && event.group_id ? [' ', name(event.group_id, 30)] : '',
    member ? [' ', name(member, 30)] : '',
    records(event.detail),
    event.cause ? ` (${words(event.cause)})` : '',
    event.error ? ` ${event.error}` : '',
    event.generation === undefined || event.generation === null ? '' : ` ${event.generation}`,
    event.duration_us ? ` after ${duration(event.duration_us / 1_000)}` : '',
  ]
}
