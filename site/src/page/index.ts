export { FORM_SCRIPT, ICON, mountAssets, PASSKEY_SCRIPT, STYLES } from './assets.js';
export { framePolicy, readerPolicy } from './policies.js';
