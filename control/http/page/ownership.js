// Chart of partition owners over time: a row for each partition, a colour for each member.

import {fill, h, svg, visible} from './dom.js'
import {duration, isMoving} from './model.js'

const MAX_ROWS = 60
const COLOURS = 12
const WIDTH = 900, LEFT = 150, ROW = 18, TOP = 26, BOTTOM = 20

/** Show the owners of a group's partitions, up to `nowMs` on the brokers' clock. */
export function showOwnership(section, ownership, nowMs) {
  const rows = ownership === null ? [] : ownership.rows()
  fill(section, [rows, ownership?.states, nowMs], () => {
    if (!rows.length) return []
    const drawn = rows.slice(0, MAX_ROWS)
    const owners = [...new Set(rows.flatMap(([, spans]) => spans.map(span => span.owner)))]
    const fromMs = ownership.beganMs, length = Math.max(1_000, nowMs - fromMs)
    const x = ms => LEFT + (WIDTH - LEFT) * (Math.max(fromMs, ms ?? nowMs) - fromMs) / length
    const height = TOP + drawn.length * ROW + BOTTOM
    const label = `Owners of ${rows.length} partitions in the last ${duration(length)}`
    return [
      h('h2', {}, 'Partition owners'),
      h('p', {class: 'soft'}, `Since this page first showed the group, on the brokers' clock`
        + (rows.length > drawn.length ? `; the first ${drawn.length} of ${rows.length} partitions` : '')),
      svg('svg', {viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': label},
        svg('text', {x: 0, y: 14, class: 'soft'}, 'state'),
        ownership.states.map(span => bar(x(span.fromMs), x(span.toMs), 4, 12, isMoving(span.state) ? 'moving' : span.state, span.state, '')),
        drawn.map(([key, spans], at) => row(key, spans, TOP + at * ROW, owners, x)),
        svg('text', {x: LEFT, y: height - 6, class: 'soft'}, `${duration(length)} ago`),
        svg('text', {x: WIDTH, y: height - 6, class: 'soft', 'text-anchor': 'end'}, 'now')),
    ]
  })
}

function row(key, spans, y, owners, x) {
  const text = visible(key)
  return [
    svg('text', {x: 0, y: y + 13}, text.length > 22 ? '…' + text.slice(-21) : text),
    svg('rect', {x: LEFT, y: y + 1, width: WIDTH - LEFT, height: ROW - 3, class: 'unowned'}),
    spans.map(span => bar(x(span.fromMs), x(span.toMs), y + 1, ROW - 3, 'c' + owners.indexOf(span.owner) % COLOURS, span.owner, span.owner)),
  ]
}

function bar(from, to, y, height, paint, about, label) {
  const width = Math.max(1, to - from)
  const text = visible(label)
  const fits = Math.floor((width - 6) / 6.5)
  return svg('g', {},
    svg('title', {}, visible(about)),
    svg('rect', {x: from, y, width, height, class: paint}),
    text && fits >= 3 ? svg('text', {x: from + 3, y: y + 12, class: 'on'}, text.length > fits ? text.slice(0, fits - 1) + '…' : text) : null)
}
