export { openNatsBus } from './bus.js';
export { inspectNats } from './inspect.js';
export { openEventInstallation } from './installation.js';
export { openParkedEvents } from './parked-events.js';
