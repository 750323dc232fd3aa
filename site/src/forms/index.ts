export { mountForms } from './mount.js';
export { orFailure } from './send.js';
