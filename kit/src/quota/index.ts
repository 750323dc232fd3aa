export { reserveAmount } from './amount.js';
export { createQuota, type Quota, type QuotaRecord, type QuotaTerms, quotaCollection } from './quota.js';
