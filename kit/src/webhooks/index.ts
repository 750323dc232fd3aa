export type { Target } from './attempt.js';
export * from './deliverer.js';
export type { Attempt, Delivery, DeliveryStatus, DisabledReason } from './records.js';
export { DELAYS_MS } from './schedule.js';
export { isWebhookSecret, mintWebhookSecret } from './sign.js';
