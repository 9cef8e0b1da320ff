// Elements. Values from clients (names, ids, reasons) are inserted as text only, never as HTML.

const SVG = 'http://www.w3.org/2000/svg'

/** Create an HTML element. Functions become event listeners: `{onclick: …}`; null and false are left out. */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children)
}

/** Create an SVG element. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children)
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key.slice(2), value)
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(key, value === true ? '' : value)
  }
  element.append(...children.flat(3).filter(child => child !== null && child !== undefined && child !== ''))
  return element
}

// Control characters, line ends, bidirectional marks, lone surrogates, unusual spaces: see base/visible.py.
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

/** Return text from a client with invisible characters escaped. */
export function visible(text) {
  return String(text).replace(HIDDEN, match =>
    [...Array(match.length).keys()].map(at => '\\u' + match.charCodeAt(at).toString(16).padStart(4, '0')).join(''))
}

/** Create an element for a name, isolated from the text direction around it. A long name is cut in the middle. */
export function name(text, maxLength = 48) {
  const escaped = visible(text)
  if (escaped.length <= maxLength) return h('bdi', {}, escaped)
  const half = Math.floor((maxLength - 1) / 2)
  return h('bdi', {title: escaped.slice(0, 4_000)}, escaped.slice(0, half) + '…' + escaped.slice(-half))
}

/** Label the cells of a table with the heads of their columns, because a phone shows each row as a list. */
function label(table) {
  const heads = [...table.querySelectorAll('th[scope=col]')]
  for (const row of table.rows) {
    [...row.cells].forEach((cell, at) => {
      if (cell.scope === 'col' || !heads[at]) return
      if (heads[at].textContent) cell.dataset.label = heads[at].textContent
      heads[at].classList.toggle('n', cell.classList.contains('n')) // numbers and their head are aligned alike
    })
  }
}

const drawn = new WeakMap()

/** Fill a section if its data have changed. The focus is restored by `data-key`. */
export function fill(section, data, build) {
  const text = JSON.stringify(data)
  if (drawn.get(section) === text) return
  drawn.set(section, text)
  const key = section.contains(document.activeElement) ? document.activeElement.dataset.key : undefined
  section.replaceChildren(...[build(data)].flat(3).filter(Boolean))
  section.querySelectorAll('table').forEach(label)
  if (key) [...section.querySelectorAll('[data-key]')].find(element => element.dataset.key === key)?.focus()
}
