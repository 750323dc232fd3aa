export { isPublicAddress } from './address.js';
export * from './guard.js';
export { createWebFetch, NOT_CALLED, type WebFetchOptions } from './web-fetch.js';
