export { type NatsOptions, openNatsBus } from './bus.js';
export { inspectNats, type NatsFacts } from './inspect.js';
export { type EventInstallationOptions, openEventInstallation } from './installation.js';
export { openParkedEvents } from './parked-events.js';
