export { type ChannelHarness, channelContract } from './channel.contract.js';
export { CALL_MS, clientOfCallers, fake, openStage, personCalled, type Stage } from './fake-services.js';
