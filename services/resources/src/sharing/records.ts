import type { CollectionSpec } from '@commonplace/kit/store';
import type { Grant } from '../domain/grant.js';

export const grantCollection: CollectionSpec<Grant> = {
  name: 'grants',
  cachesQueries: true,
  indexes: [{ fields: ['resourceId', 'principal'] }, { fields: ['principal', 'workspaceId'] }],
};
