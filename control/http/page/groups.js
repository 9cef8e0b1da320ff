// List of groups, with those that are rebalancing first.

import {h, name} from './dom.js'
import {isMoving, listed} from './model.js'

const MAX_GROUPS = 1_000

/** Return the CSS class of a state. */
export function stateClass(state) {
  return 'state ' + (isMoving(state) ? 'moving' : state)
}

/** List that is updated row by row, which preserves focus and scroll position. */
export class GroupList {
  constructor(list, count, choose) {
    this.list = list
    this.count = count
    this.choose = choose
    this.rows = new Map()
    list.addEventListener('keydown', event => this.move(event))
  }

  /** Show groups whose id contains `part`, and mark `chosen`. */
  show(groups, part, chosen) {
    const matching = listed(groups, part)
    const rows = matching.slice(0, MAX_GROUPS)
    this.count.textContent = matching.length === groups.length
      ? `${groups.length} group${groups.length === 1 ? '' : 's'}`
      : `${matching.length} of ${groups.length} groups`
    if (rows.length < matching.length) this.count.textContent += `, the first ${MAX_GROUPS} are listed`
    const obsolete = new Set(this.rows.keys())
    rows.forEach((group, at) => {
      const row = this.rows.get(group.id) ?? this.addRow(group.id)
      obsolete.delete(group.id)
      row.update(group, group.id === chosen)
      if (this.list.children[at] !== row.item) this.list.insertBefore(row.item, this.list.children[at] ?? null)
    })
    for (const id of obsolete) {
      this.rows.get(id).item.remove()
      this.rows.delete(id)
    }
  }

  addRow(id) {
    const state = h('span'), about = h('span', {class: 'soft'})
    const button = h('button', {onclick: () => this.choose(id)}, h('span', {class: 'name'}, name(id)), state, about)
    const row = {
      item: h('li', {}, button),
      update(group, isChosen) {
        state.className = stateClass(group.state)
        state.textContent = group.state
        about.textContent = `${group.type} ${group.generation}, ${group.members} member${group.members === 1 ? '' : 's'}`
        button.setAttribute('aria-current', isChosen)
      },
    }
    this.rows.set(id, row)
    return row
  }

  move(event) {
    const step = {ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling'}[event.key]
    const next = step && document.activeElement.closest('li')?.[step]
    if (next) {
      event.preventDefault()
      next.querySelector('button').focus()
    }
  }
}
