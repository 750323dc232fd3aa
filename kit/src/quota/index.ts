export { reserveAmount } from './amount.js';
export { createQuota, type Quota, type QuotaTerms, quotaCollection } from './quota.js';
