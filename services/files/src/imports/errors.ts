import { defineError } from '@commonplace/kit/errors';

export const ImportActive = defineError('ABORTED', 'import_active', 'The import has not ended: it is {status}.');
export const ImportNotRetryable = defineError(
  'ABORTED',
  'import_not_retryable',
  'Only an import that has failed, was canceled or has failed items can be retried, as long as its bytes are stored.',
);
export const WorkspaceArchived = defineError(
  'ABORTED',
  'workspace_archived',
  'The workspace is archived and cannot be changed.',
);
export const TooManyImports = defineError(
  'ABORTED',
  'limit_reached',
  'At most {limit} imports may wait in one workspace. The operator can raise this by {setting}.',
);
