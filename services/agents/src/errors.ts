import { defineConflict, defineError, defineForbidden, defineInvalid, defineNotFound } from '@commonplace/kit/errors';

export const ReplyInProgress = defineConflict(
  'reply_in_progress',
  'A reply is being written. Wait for it, or send interrupt: true to stop it.',
);
export const ApprovalNotPending = defineConflict(
  'approval_not_pending',
  'The approval is no longer pending: it is {status}.',
);
export const AgentsCannotApprove = defineForbidden('agents_cannot_approve', 'An approval is decided by a person.');
export const ApprovalNeedsPerson = defineForbidden(
  'approval_needs_person',
  'This approval is decided by a person who has signed in, not by an API key.',
);
export const ApprovalInputInvalid = defineInvalid(
  'approval_input_invalid',
  'The value does not follow the schema: {fault}',
);
export const RunNotCancelable = defineConflict('run_not_cancelable', 'The run has ended: its status is {status}.');
export const RunNotRetryable = defineConflict(
  'run_not_retryable',
  'Only a run that has failed, was canceled or has expired can be run again: its status is {status}.',
);
export const ModelNotConfigured = defineConflict(
  'model_not_configured',
  'This needs a language model, and none is configured on this server.',
);
export const NameTaken = defineConflict('already_exists', 'An MCP server of this agent has the name {name} already.');
export const SecretReentryRequired = defineConflict(
  'secret_reentry_required',
  'The URL leads to another server: send the credentials and headers for it again, or remove them.',
);
export const MissingTarget = defineInvalid(
  'missing_target',
  'The request does not say which MCP server it means. Send server_id or name.',
);
export const McpAuthRequired = defineConflict(
  'mcp_auth_required',
  'The MCP server {name} has to be authorized by the owner of the agent first: send reauthorize and open authorize_url.',
);
export const McpAuthorizationFailed = defineError('FAILED_PRECONDITION', 'connection_inactive', '{why}');
export const ExpiredLink = defineNotFound('expired_link', 'This link is no longer valid.');
export const AgentPaused = defineConflict('agent_paused', 'The agent is paused.');
