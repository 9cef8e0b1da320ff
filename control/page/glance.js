// All groups at one look: who waits, for whom, since when, and the rebalances of the last minutes on one axis.

import {fill, h, name, svg} from './dom.js'
import {stateClass} from './groups.js'
import {duration} from './model.js'

const WINDOW_MS = 600_000
const WIDTH = 300, HEIGHT = 18, LEAST = 3

/** Draws the groups, the most troubled first. `choose(id)` opens one; `opened` is the one that is open. */
export function showGlance(section, rows, opened, choose) {
  fill(section, [rows, opened], () => [
    h('h2', {}, 'All groups at a glance'),
    rows.length
      ? h('div', {class: 'scroll'}, h('table', {},
        h('caption', {}, 'what happened in the last 10 minutes, the most troubled first'),
        h('thead', {}, h('tr', {}, ['group', 'state', 'waits for', 'since', 'rebalances: 10 minutes ago … now'].map(each => h('th', {scope: 'col'}, each)))),
        h('tbody', {}, rows.map(each => row(each, opened, choose)))))
      : h('p', {class: 'soft'}, 'Nothing has happened in the last 10 minutes. A group appears here as soon as somebody joins.'),
  ])
}

function row(each, opened, choose) {
  return h('tr', {},
    h('th', {scope: 'row'}, h('button', {class: 'link', 'data-key': 'glance ' + each.id, 'aria-current': String(each.id === opened), onclick: () => choose(each.id)}, name(each.id))),
    h('td', {}, h('span', {class: stateClass(each.state)}, each.state)),
    h('td', {}, waits(each)),
    h('td', {}, each.since_ms === null ? '' : duration(each.since_ms)),
    h('td', {}, axis(each.marks)))
}

function waits(each) {
  const whom = [...new Set(each.waits.flatMap(wait => wait.for_whom))]
  const shown = whom.slice(0, 3).flatMap((one, at) => [at ? ', ' : '', name(one)])
  return whom.length > 3 ? [...shown, ` and ${whom.length - 3} more`] : shown
}

function axis(marks) {
  const at = ms => WIDTH * (1 - Math.min(ms, WINDOW_MS) / WINDOW_MS)
  const text = marks.length === 0 ? 'no rebalance' : marks.length === 1 ? '1 rebalance' : `${marks.length} rebalances`
  return svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': text, class: 'axis'},
    svg('rect', {x: 0, y: HEIGHT / 2, width: WIDTH, height: 1, class: 'Empty'}),
    marks.map(mark => {
      const from = at(mark.began_ms_ago), to = at(mark.took_ms === null ? 0 : mark.began_ms_ago - mark.took_ms)
      const about = `${mark.cause}, ${mark.took_ms === null ? 'not over' : duration(mark.took_ms)}${mark.laggard ? ', waited for ' : ''}`
      return svg('rect', {x: Math.min(from, WIDTH - LEAST), y: 2, width: Math.max(LEAST, to - from), height: HEIGHT - 4, class: mark.took_ms === null ? 'moving' : 'past'},
        svg('title', {}, about, mark.laggard ? name(mark.laggard).textContent : ''))
    }))
}
