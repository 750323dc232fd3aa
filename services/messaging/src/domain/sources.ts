import { commentCreated, commentResolved, commentUpdated } from './comments.js';
import type { Source } from './draft.js';
import { formSubmitted, webhookDisabled } from './forms.js';
import { importFinished } from './imports.js';
import { keyExpiring } from './keys.js';
import { orgMemberAdded, orgMemberUpdated, workspaceMemberAdded } from './members.js';
import { accessDecided, accessRequested, permissionGranted } from './sharing.js';

/** Every event that somebody is told of, and how. */
export const SOURCES: Readonly<Record<string, Source>> = {
  'commonplace.files.import.finished': importFinished,
  'commonplace.identity.api_key.expiring': keyExpiring,
  'commonplace.resources.access_request.created': accessRequested,
  'commonplace.resources.access_request.decided': accessDecided,
  'commonplace.resources.comment.created': commentCreated,
  'commonplace.resources.comment.resolved': commentResolved,
  'commonplace.resources.comment.updated': commentUpdated,
  'commonplace.resources.form.submitted': formSubmitted,
  'commonplace.resources.permission.granted': permissionGranted,
  'commonplace.resources.webhook.disabled': webhookDisabled,
  'commonplace.tenancy.org_member.added': orgMemberAdded,
  'commonplace.tenancy.org_member.updated': orgMemberUpdated,
  'commonplace.tenancy.workspace_member.added': workspaceMemberAdded,
};
