import { defineError } from '@commonplace/kit/errors';

export const ImportActive = defineError('ABORTED', 'import_active', 'The import is not over: it is {status}.');
export const ImportNotRetryable = defineError(
  'ABORTED',
  'import_not_retryable',
  'Only imports are run again that have failed, were canceled or have items that failed, as long as their bytes are there.',
);
export const WorkspaceArchived = defineError(
  'ABORTED',
  'workspace_archived',
  'The workspace is archived and can not be changed.',
);
export const TooManyImports = defineError(
  'ABORTED',
  'limit_reached',
  'There are {limit} imports waiting in the workspace already. The operator can raise this by {setting}.',
);
