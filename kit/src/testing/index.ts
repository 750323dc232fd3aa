export { type Authority, createAuthority, type IssuedFiles } from './certificates.js';
export { type ChannelHarness, channelContract } from './channel.contract.js';
export { createDuties, type Duties, type OptOuts } from './duties.js';
export { createEvent } from './events/fixtures.js';
export { type EventsHarness, eventsContract } from './events.contract.js';
export { eventually } from './eventually.js';
export { fake, openStage, personCalled, type Stage } from './fake-services.js';
export * from './hostile-targets.js';
export { type StoreHarness, storeContract } from './store.contract.js';
