// Overview of all groups: what each waits for, since when, and the rebalances of the last minutes on one axis.

import {fill, h, name, svg} from './dom.js'
import {stateClass} from './groups.js'
import {duration} from './model.js'

const WINDOW_MS = 600_000
const WIDTH = 300, HEIGHT = 18, MIN_WIDTH = 3

/** Show the groups, those with most problems first. `choose(id)` opens a group; `opened` is the id of the open one. */
export function showGlance(section, rows, opened, choose) {
  fill(section, [rows, opened], () => [
    h('h2', {}, 'All groups at a glance'),
    rows.length
      ? h('div', {class: 'scroll'}, h('table', {},
        h('caption', {}, 'events of the last 10 minutes, groups with most problems first'),
        h('thead', {}, h('tr', {}, ['group', 'state', 'waits for', 'since', 'rebalances: 10 minutes ago … now'].map(title => h('th', {scope: 'col'}, title)))),
        h('tbody', {}, rows.map(group => row(group, opened, choose)))))
      : h('p', {class: 'soft'}, 'No events in the last 10 minutes. A group appears here when a member joins.'),
  ])
}

function row(group, opened, choose) {
  return h('tr', {},
    h('th', {scope: 'row'}, h('button', {class: 'link', 'data-key': 'glance ' + group.id, 'aria-current': String(group.id === opened), onclick: () => choose(group.id)}, name(group.id))),
    h('td', {}, h('span', {class: stateClass(group.state)}, group.state)),
    h('td', {}, waits(group)),
    h('td', {}, group.since_ms === null ? '' : duration(group.since_ms)),
    h('td', {}, axis(group.marks)))
}

function waits(group) {
  const whom = [...new Set(group.waits.flatMap(wait => wait.for_whom))]
  const names = whom.slice(0, 3).flatMap((member, at) => [at ? ', ' : '', name(member)])
  return whom.length > 3 ? [...names, ` and ${whom.length - 3} more`] : names
}

function axis(marks) {
  const at = ms => WIDTH * (1 - Math.min(ms, WINDOW_MS) / WINDOW_MS)
  const text = marks.length === 0 ? 'no rebalance' : marks.length === 1 ? '1 rebalance' : `${marks.length} rebalances`
  return svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': text, class: 'axis'},
    svg('rect', {x: 0, y: HEIGHT / 2, width: WIDTH, height: 1, class: 'Empty'}),
    marks.map(mark => {
      const from = at(mark.began_ms_ago), to = at(mark.took_ms === null ? 0 : mark.began_ms_ago - mark.took_ms)
      const about = `${mark.cause}, ${mark.took_ms === null ? 'still open' : duration(mark.took_ms)}${mark.laggard ? ', waited for ' : ''}`
      return svg('rect', {x: Math.min(from, WIDTH - MIN_WIDTH), y: 2, width: Math.max(MIN_WIDTH, to - from), height: HEIGHT - 4, class: mark.took_ms === null ? 'moving' : 'past'},
        svg('title', {}, about, mark.laggard ? name(mark.laggard).textContent : ''))
    }))
}
