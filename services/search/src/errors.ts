import { defineError } from '@commonplace/kit/errors';

export const DependencyUnavailable = defineError(
  'UNAVAILABLE',
  'dependency_unavailable',
  'The search index is not available. Try again shortly.',
);
