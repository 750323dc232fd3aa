export { type NatsOptions, openNatsBus } from './bus.js';
