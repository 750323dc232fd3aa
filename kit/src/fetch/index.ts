export { isPublicAddress } from './address.js';
export * from './guard.js';
