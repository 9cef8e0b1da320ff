// Elements. What others have chosen (names, ids, reasons) gets in as text only, never as HTML.

const SVG = 'http://www.w3.org/2000/svg'

/** An HTML element. Attributes that are functions listen: `{onclick: …}`; null and false are left out. */
export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children)
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children)
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(key.slice(2), value)
    else if (value !== null && value !== false && value !== undefined) element.setAttribute(key, value === true ? '' : value)
  }
  element.append(...children.flat(3).filter(each => each !== null && each !== undefined && each !== ''))
  return element
}

// Controls, line ends, bidirectional marks, half surrogates, spaces that look like nothing: protocol/visible.py.
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

/** Text of others with whatever cannot be seen as an escape. */
export function visible(text) {
  return String(text).replace(HIDDEN, found =>
    [...Array(found.length).keys()].map(at => '\\u' + found.charCodeAt(at).toString(16).padStart(4, '0')).join(''))
}

/** A name as it is spelt, kept apart from the direction of the text around it; a long one is cut in its middle. */
export function name(text, longest = 48) {
  const shown = visible(text)
  if (shown.length <= longest) return h('bdi', {}, shown)
  const half = Math.floor((longest - 1) / 2)
  return h('bdi', {title: shown.slice(0, 4_000)}, shown.slice(0, half) + '…' + shown.slice(-half))
}

const drawn = new WeakMap()

/** Fills a section when its data are others than last time. What had the focus has it again: by `data-key`. */
export function fill(section, data, build) {
  const text = JSON.stringify(data)
  if (drawn.get(section) === text) return
  drawn.set(section, text)
  const key = section.contains(document.activeElement) ? document.activeElement.dataset.key : undefined
  section.replaceChildren(...[build(data)].flat(3).filter(Boolean))
  if (key) [...section.querySelectorAll('[data-key]')].find(each => each.dataset.key === key)?.focus()
}
