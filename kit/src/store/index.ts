export * from './cursor.js';
export * from './port.js';
