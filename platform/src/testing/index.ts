export { type ChannelHarness, channelContract } from './channel.contract.js';
export { clientOfCallers, fake, openStage, personCalled, type Stage } from './fake-services.js';
