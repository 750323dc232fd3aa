export { isPublicAddress } from './address.js';
export { boundedFetch } from './bounded-fetch.js';
export * from './guard.js';
export { headerOf, readStart, retryAfterMs } from './response.js';
export { openTenantGuard, type TenantGuard } from './tenant-guard.js';
export { tokenLifetimeMs } from './token-lifetime.js';
export { createWebFetch, NOT_CALLED, openAiOptions } from './web-fetch.js';
