export { type ApprovalParts, mountApprovals } from './mount.js';
