import type { Control, Left } from './control.js'

export * from './control.js'

export interface Options {
  /** How many nodes the cluster has; 1. */
  nodes?: number
  /** Settings of the brokers, as in server.properties. */
  settings?: Record<string, string | number | boolean>
  /** The release of Kafka that it stands in for: '2.8'. */
  asKafka?: string
  /** Further options of `kohort serve`. */
  options?: string[]
  /** What to start; `kohort`, or what KOHORT_COMMAND says. */
  command?: string
}

/** A broker: one of its own from `start` to `stop`, or, with `new`, one that runs elsewhere. */
export class Kohort {
  constructor(bootstrap: string, controlAddress: string, token?: string)
  static start(options?: Options): Promise<Kohort>
  /** The addresses that clients connect to, with commas. */
  readonly bootstrap: string
  /** The same, as kafkajs takes them. */
  readonly brokers: string[]
  /** The clock, faults, gates, topics and groups. */
  readonly control: Control
  /** Ends all rules, opens all gates, lets the clock run, deletes all topics, and all groups without members. */
  reset(): Promise<Left>
  /** What happened in each group, and what it waits for now. */
  report(): Promise<string>
  /** Stops it, if it was started here. */
  stop(): Promise<void>
}

/** The broker did not do what it was asked for; the message says what to do. */
export class Refused extends Error {
  readonly status: number
}
