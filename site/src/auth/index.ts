export { createSessionCookie } from './cookie.js';
export type { AuthMessages } from './messages.js';
export { mountAuth } from './mount.js';
export { safeNext } from './next.js';
export { opensPage, orErrorPage, sendNotFound } from './not-found.js';
export type { AuthParts } from './parts.js';
export type { Query } from './submission.js';
