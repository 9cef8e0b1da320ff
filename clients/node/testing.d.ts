import type { Kohort, Options } from './index.js'

/**
 * For node:test: a broker for all tests of this file or `describe`, reset after each of them. A failing test prints what
 * happened in its groups; a gate that it leaves held, and what must never happen, fails it.
 *
 * Where KOHORT_BOOTSTRAP and KOHORT_CONTROL are set, that broker is used, as it is.
 */
export function useKohort(options?: Options): Omit<Kohort, 'stop'>
