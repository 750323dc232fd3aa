export type { Target } from './attempt.js';
export * from './deliverer.js';
export { type Attempt, type Delivery, type DisabledReason, deliveryQueue } from './records.js';
export { DELAYS_MS } from './schedule.js';
export { isWebhookSecret, mintWebhookSecret, signedHeaders } from './sign.js';
export { verifySigned } from './verify.js';
