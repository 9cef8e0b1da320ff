// Topics: the list, one topic with its partitions and settings, its records, and a form that appends a record.

import {fill, h, name, visible} from './dom.js'
import {duration} from './model.js'

const MAX_TOPICS = 500, MAX_CHARACTERS = 4_000
const UNITS = [['B', 1], ['KiB', 1 << 10], ['MiB', 1 << 20], ['GiB', 1 << 30]]

/** Format a size in bytes. */
export function size(bytes) {
  const [unit, factor] = UNITS.findLast(([, least]) => bytes >= least) ?? UNITS[0]
  return `${factor === 1 ? bytes : (bytes / factor).toFixed(1)} ${unit}`
}

/** Return text as indented JSON if it is an object or array in JSON, or else unchanged. */
export function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const count = topic => topic.partitions.reduce((sum, partition) => sum + partition.end_offset - partition.start_offset, 0)
const bytes = topic => topic.partitions.reduce((sum, partition) => sum + partition.size_bytes, 0)

/** Show the topics with their partitions, records and sizes. `choose(name)` opens one. */
export function showTopics(section, topics, chosen, choose) {
  const listed = topics.filter(topic => !topic.internal)
  fill(section, [listed, chosen], () => [
    h('h2', {}, 'Topics'),
    listed.length ? h('div', {class: 'scroll'}, h('table', {},
      h('tr', {}, ['topic', 'partitions', 'records', 'size'].map(head => h('th', {scope: 'col'}, head))),
      listed.slice(0, MAX_TOPICS).map(topic => h('tr', {},
        h('td', {}, h('button', {class: 'link', 'data-key': `topic ${topic.name}`, 'aria-expanded': topic.name === chosen,
          onclick: () => choose(topic.name === chosen ? null : topic.name)}, name(topic.name))),
        h('td', {class: 'n'}, topic.partitions.length), h('td', {class: 'n'}, count(topic)), h('td', {class: 'n'}, size(bytes(topic)))))))
      : h('p', {class: 'soft'}, 'No topics.'),
    listed.length > MAX_TOPICS ? h('p', {class: 'soft'}, `The first ${MAX_TOPICS} of ${listed.length} topics.`) : null,
  ])
}

/** Show one topic: its settings and partitions. */
export function showTopic(section, topic) {
  fill(section, topic, () => topic === null ? [] : [
    h('h2', {}, 'Topic ', name(topic.name)),
    Object.keys(topic.configs).length
      ? h('p', {class: 'soft'}, Object.entries(topic.configs).map(([key, value]) => `${visible(key)}=${visible(value)}`).join(', '))
      : h('p', {class: 'soft'}, 'All settings have their defaults.'),
    h('div', {class: 'scroll'}, h('table', {},
      h('tr', {}, ['partition', 'leader', 'replicas', 'in sync', 'offsets', 'size'].map(head => h('th', {scope: 'col'}, head))),
      topic.partitions.map(partition => h('tr', {},
        h('td', {class: 'n'}, partition.partition), h('td', {class: 'n'}, partition.leader ?? 'none'),
        h('td', {}, partition.replicas.join(', ')), h('td', {}, partition.in_sync.join(', ') || 'none'),
        h('td', {class: 'n'}, `${partition.start_offset} to ${partition.end_offset}`), h('td', {class: 'n'}, size(partition.size_bytes)))))),
  ])
}

/** Show the forms that read and append records. They stay as they are while records arrive. */
export function showTopicForms(section, topic, {browse, append}) {
  fill(section, topic && [topic.name, topic.partitions.length], () => topic === null ? [] : [
    h('form', {onsubmit: submitted(form => browse(form))},
      h('label', {}, 'partition', h('select', {name: 'partition', 'data-key': 'partition'},
        topic.partitions.map(partition => h('option', {}, partition.partition)))),
      h('label', {}, 'from offset', h('input', {name: 'offset', type: 'number', min: 0, value: 0, 'data-key': 'offset'})),
      h('label', {}, 'since', h('input', {name: 'since', type: 'datetime-local', step: 'any', 'data-key': 'since'})),
      h('label', {}, 'with key', h('input', {name: 'key', placeholder: 'any', 'data-key': 'key'})),
      h('label', {}, 'records', h('input', {name: 'limit', type: 'number', min: 1, max: 1000, value: 20, 'data-key': 'limit'})),
      h('label', {}, 'containing', h('input', {name: 'text', placeholder: 'key or value', 'data-key': 'text'})),
      h('button', {'data-key': 'browse'}, 'Show records')),
    h('form', {onsubmit: submitted(form => append(form))},
      h('label', {}, 'partition', h('input', {name: 'partition', type: 'number', min: 0, max: topic.partitions.length - 1, value: 0, 'data-key': 'to'})),
      h('label', {}, 'key', h('input', {name: 'key', placeholder: 'none', 'data-key': 'new key'})),
      h('label', {}, 'value', h('textarea', {name: 'value', rows: 1, 'data-key': 'new value'})),
      h('label', {}, 'headers as JSON', h('input', {name: 'headers', placeholder: '{"trace": "7"}', 'data-key': 'new headers'})),
      h('button', {'data-key': 'append'}, 'Append record')),
  ])
}

/** Show records, with keys and values as text, JSON on several lines, and other bytes in base64. */
export function showRecords(section, records) {
  fill(section, records, () => records === null ? [] : [
    h('h3', {}, `${records.length} record${records.length === 1 ? '' : 's'}`),
    h('ol', {class: 'records'}, records.map(record => h('li', {},
      h('p', {class: 'soft'}, `${record.partition}@${record.offset} `, h('time', {}, new Date(record.timestamp_ms).toISOString()),
        record.key === null ? ' no key' : [' key ', name(shown(record.key))],
        record.headers.map(header => [' ', name(`${header.name}: ${header.value === null ? 'null' : shown(header.value)}`, 60)])),
      record.value === null ? h('p', {class: 'soft'}, 'null (a tombstone)') : h('pre', {}, cut(record.value.text === null ? shown(record.value) : pretty(record.value.text)))))),
  ])
}

function shown(data) {
  return data.text === null ? `base64:${data.base64}` : data.text
}

function cut(text) {
  const escaped = text.slice(0, MAX_CHARACTERS).split('\n').map(visible).join('\n')
  return text.length > MAX_CHARACTERS ? `${escaped}\n… (${text.length} characters)` : escaped
}

/** Return whether the key or the value of a record contains a text. */
export function contains(record, text) {
  return !text || [record.key, record.value].some(data => data !== null && shown(data).includes(text))
}

function submitted(act) {
  return event => {
    event.preventDefault()
    act(new FormData(event.target))
  }
}

/** Show offset and lag of each partition, and for a group without members the buttons that reset or delete it. */
export function showOffsets(section, group, lags, act) {
  const rows = lags?.map(part => [part.topic, part.partition, part.offset, part.lag, part.lag ? duration(part.seconds * 1000) : ''])
  fill(section, group && [group.id, group.type, rows, group.members.length], () => {
    if (group === null || (!rows.length && group.members.length)) return []
    const path = `groups/${encodeURIComponent(group.id)}`
    const records = lags.reduce((sum, part) => sum + part.lag, 0)
    const longest = duration(1000 * Math.max(0, ...lags.map(part => part.seconds)))
    return [
      h('h2', {}, 'Offsets and lag'),
      rows.length ? [
        h('p', {}, records ? `${records} record${records === 1 ? '' : 's'} to read, the oldest from ${longest} ago.` : 'Nothing to read.'),
        h('div', {class: 'scroll'}, h('table', {},
          h('caption', {}, `${rows.length} partition${rows.length === 1 ? '' : 's'}` + (rows.length > MAX_TOPICS ? `, the first ${MAX_TOPICS} are listed` : '')),
          h('thead', {}, h('tr', {}, ['partition', group.type === 'share' ? 'start offset' : 'committed', 'lag', 'lag in time'].map(head => h('th', {scope: 'col'}, head)))),
          h('tbody', {}, rows.slice(0, MAX_TOPICS).map(([topic, partition, offset, lag, waits]) => h('tr', {},
            h('th', {scope: 'row'}, h('span', {}, name(topic), ` ${partition}`)),
            h('td', {class: 'n'}, offset ?? 'none'), h('td', {class: 'n'}, lag), h('td', {class: 'n'}, waits))))))]
        : h('p', {class: 'soft'}, 'No committed offsets.'),
      group.type === 'share' ? null : group.members.length ? h('p', {class: 'soft'}, 'Offsets can be reset when the group has no members.') : [
        h('form', {onsubmit: submitted(form => act('POST', `${path}/reset`, {to: form.get('where'), topic: form.get('topic') || null}))},
          h('label', {}, 'reset to', h('select', {name: 'where', 'data-key': 'where'}, ['earliest', 'latest'].map(place => h('option', {}, place)))),
          h('label', {}, 'topic', h('input', {name: 'topic', placeholder: 'all committed', 'data-key': 'reset topic'})),
          h('button', {'data-key': 'reset offsets'}, 'Reset offsets')),
        h('button', {'data-key': 'delete group', onclick: () => confirm(`Delete group ${group.id} with its offsets?`) && act('DELETE', path)}, 'Delete group'),
      ],
    ]
  })
}
