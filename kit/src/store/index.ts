export * from './cursor.js';
export * from './page.js';
export * from './port.js';
