export { type NatsOptions, openNatsBus } from './bus.js';
export { inspectNats, type NatsFacts } from './inspect.js';
