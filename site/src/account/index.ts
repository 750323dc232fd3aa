export { mountAccount } from './mount.js';
