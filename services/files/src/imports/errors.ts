import { defineConflict } from '@commonplace/kit/errors';

export const ImportActive = defineConflict('import_active', 'The import has not ended: it is {status}.');
export const ImportNotRetryable = defineConflict(
  'import_not_retryable',
  'Only an import that has failed, was canceled or has failed items can be retried, as long as its bytes are stored.',
);
export const TooManyImports = defineConflict(
  'limit_reached',
  'At most {limit} imports may wait in one workspace. The operator can raise this by {setting}.',
);
