// Made by `python -m tests.control.typed_clients` from /openapi.json; a test compares it with that.

const part = encodeURIComponent

// What there is to say to a control address. `address` has three ways to ask: `ask`, `text` and `events`.
export const control = (address) => ({
  nodes: {
    list: () => address.ask('GET', '/nodes'),
    stopNode: (nodeId) => address.ask('POST', `/nodes/${part(nodeId)}/stop`),
    startNode: (nodeId) => address.ask('POST', `/nodes/${part(nodeId)}/start`),
  },
  leaders: {
    list: (query) => address.ask('GET', '/leaders', query),
    move: (topic, partition, body) => address.ask('POST', `/leaders/${part(topic)}/${part(partition)}`, undefined, body),
  },
  topics: {
    list: () => address.ask('GET', '/topics'),
    create: (body) => address.ask('POST', '/topics', undefined, body),
    read: (topic) => address.ask('GET', `/topics/${part(topic)}`),
    delete: (topic) => address.ask('DELETE', `/topics/${part(topic)}`),
    grow: (topic, body) => address.ask('POST', `/topics/${part(topic)}/partitions`, undefined, body),
    append: (topic, body) => address.ask('POST', `/topics/${part(topic)}/records`, undefined, body),
    records: (topic, query) => address.ask('GET', `/topics/${part(topic)}/records`, query),
    trim: (topic, body) => address.ask('POST', `/topics/${part(topic)}/trim`, undefined, body),
  },
  clock: {
    read: () => address.ask('GET', '/clock'),
    pause: () => address.ask('POST', '/clock/pause'),
    run: (body) => address.ask('POST', '/clock/run', undefined, body),
    advance: (body) => address.ask('POST', '/clock/advance', undefined, body),
  },
  faults: {
    listRules: () => address.ask('GET', '/faults'),
    add: (body) => address.ask('POST', '/faults', undefined, body),
    clear: () => address.ask('DELETE', '/faults'),
    freeze: (body) => address.ask('POST', '/faults/freeze', undefined, body),
    cutOff: (body) => address.ask('POST', '/faults/cut-off', undefined, body),
    wait: (number, query) => address.ask('GET', `/faults/${part(number)}/wait`, query),
    remove: (number) => address.ask('DELETE', `/faults/${part(number)}`),
  },
  appends: {
    listRules: () => address.ask('GET', '/appends'),
    add: (body) => address.ask('POST', '/appends', undefined, body),
    clear: () => address.ask('DELETE', '/appends'),
    release: (number) => address.ask('POST', `/appends/${part(number)}/release`),
    remove: (number) => address.ask('DELETE', `/appends/${part(number)}`),
  },
  acls: {
    list: () => address.ask('GET', '/acls'),
    add: (body) => address.ask('POST', '/acls', undefined, body),
    remove: (query) => address.ask('DELETE', '/acls', query),
  },
  gates: {
    listStops: () => address.ask('GET', '/gates/stops'),
    list: () => address.ask('GET', '/gates'),
    hold: (body) => address.ask('POST', '/gates', undefined, body),
    release: (name, body, query) => address.ask('POST', `/gates/${part(name)}/release`, query, body),
    openGate: (name, query) => address.ask('DELETE', `/gates/${part(name)}`, query),
  },
  groups: {
    list: () => address.ask('GET', '/groups'),
    read: (groupId) => address.ask('GET', `/groups/${part(groupId)}`),
    delete: (groupId) => address.ask('DELETE', `/groups/${part(groupId)}`),
    wait: (groupId, query) => address.ask('GET', `/groups/${part(groupId)}/wait`, query),
    readMember: (groupId, who) => address.ask('GET', `/groups/${part(groupId)}/members/${part(who)}`),
    history: (groupId, query) => address.ask('GET', `/groups/${part(groupId)}/history`, query),
    timeline: (groupId) => address.ask('GET', `/groups/${part(groupId)}/timeline`),
    explanation: (groupId) => address.ask('GET', `/groups/${part(groupId)}/explanation`),
    move: (groupId, body) => address.ask('POST', `/groups/${part(groupId)}/coordinator`, undefined, body),
    commit: (groupId, body) => address.ask('PUT', `/groups/${part(groupId)}/offsets`, undefined, body),
    reset: (groupId, body) => address.ask('POST', `/groups/${part(groupId)}/reset`, undefined, body),
  },
  violations: {
    list: () => address.ask('GET', '/violations'),
    clear: () => address.ask('DELETE', '/violations'),
  },
  overview: {
    listGroups: () => address.ask('GET', '/overview/groups'),
    atAGlance: () => address.ask('GET', '/overview/glance'),
    read: (query) => address.ask('GET', '/overview', query),
  },
  reset: {
    reset: (query) => address.ask('POST', '/reset', query),
  },
  events: {
    past: (query) => address.ask('GET', '/events/past', query),
    stream: (query) => address.events('GET', '/events', query),
  },
  metrics: {
    read: () => address.text('GET', '/metrics'),
  },
})
