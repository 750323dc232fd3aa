import { mcpServerDisabled } from './agents.js';
import { approvalRequested } from './approvals.js';
import { automationFailed, automationNotice, schedulePaused, workItemAssigned } from './automations.js';
import { commentCreated, commentResolved, commentUpdated } from './comments.js';
import type { Source } from './draft.js';
import { formSubmitted, webhookDisabled } from './forms.js';
import { importFinished } from './imports.js';
import { keyExpiring, keySuspended } from './keys.js';
import { orgMemberAdded, orgMemberUpdated, workspaceMemberAdded } from './members.js';
import { memoryProposed } from './memories.js';
import { accessDecided, accessRequested, permissionGranted } from './sharing.js';
import { creditsLow, usageAlert } from './usage.js';

/** Maps the type of each event that people are notified of to the function that returns its drafts. */
export const SOURCES: Readonly<Record<string, Source>> = {
  'commonplace.agents.memory.proposed': memoryProposed,
  'commonplace.agents.agent_approval.requested': approvalRequested,
  'commonplace.agents.mcp_server.disabled': mcpServerDisabled,
  'commonplace.automations.automation_run.failed': automationFailed,
  'commonplace.automations.notification.requested': automationNotice,
  'commonplace.automations.schedule.paused': schedulePaused,
  'commonplace.automations.work_item.created': workItemAssigned,
  'commonplace.automations.work_item.updated': workItemAssigned,
  'commonplace.files.import.finished': importFinished,
  'commonplace.identity.api_key.expiring': keyExpiring,
  'commonplace.identity.api_key.suspended': keySuspended,
  'commonplace.resources.access_request.created': accessRequested,
  'commonplace.resources.access_request.decided': accessDecided,
  'commonplace.resources.comment.created': commentCreated,
  'commonplace.resources.comment.resolved': commentResolved,
  'commonplace.resources.comment.updated': commentUpdated,
  'commonplace.resources.form.submitted': formSubmitted,
  'commonplace.resources.permission.granted': permissionGranted,
  'commonplace.resources.webhook.disabled': webhookDisabled,
  'commonplace.tenancy.credits.low': creditsLow,
  'commonplace.tenancy.org_member.added': orgMemberAdded,
  'commonplace.tenancy.org_member.updated': orgMemberUpdated,
  'commonplace.tenancy.usage.alert': usageAlert,
  'commonplace.tenancy.workspace_member.added': workspaceMemberAdded,
};
