// The list of groups: those that rebalance first.

import {h, name} from './dom.js'
import {isMoving, listed} from './model.js'

const MOST = 1_000

/** How a state is painted. */
export function stateClass(state) {
  return 'state ' + (isMoving(state) ? 'moving' : state)
}

/** The list, kept up to date row by row, so that focus and scrolling stay where they are. */
export class GroupList {
  constructor(list, count, choose) {
    this.list = list
    this.count = count
    this.choose = choose
    this.rows = new Map()
    list.addEventListener('keydown', event => this.move(event))
  }

  /** Shows groups whose name has `part` in it; `chosen` is marked. */
  show(groups, part, chosen) {
    const wanted = listed(groups, part)
    const shown = wanted.slice(0, MOST)
    this.count.textContent = wanted.length === groups.length
      ? `${groups.length} group${groups.length === 1 ? '' : 's'}`
      : `${wanted.length} of ${groups.length} groups`
    if (shown.length < wanted.length) this.count.textContent += `, the first ${MOST} are listed`
    const before = new Set(this.rows.keys())
    shown.forEach((group, at) => {
      const row = this.rows.get(group.id) ?? this.made(group.id)
      before.delete(group.id)
      row.update(group, group.id === chosen)
      if (this.list.children[at] !== row.item) this.list.insertBefore(row.item, this.list.children[at] ?? null)
    })
    for (const id of before) {
      this.rows.get(id).item.remove()
      this.rows.delete(id)
    }
  }

  made(id) {
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
