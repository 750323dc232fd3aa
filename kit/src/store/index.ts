export * from './cursor.js';
export * from './expiry.js';
export * from './in-work.js';
export * from './named-sorts.js';
export * from './ordered-page.js';
export * from './page.js';
export * from './port.js';
export * from './time-filters.js';
