import {
  type AppError,
  defineConflict,
  defineError,
  defineForbidden,
  defineInvalid,
  defineNotFound,
  InsufficientScope,
  rateLimitError,
} from '@commonplace/kit/errors';

export { LimitReached, NoUpdateField, OrgAdminRequired, WorkspaceArchived } from '@commonplace/kit/errors';

export const ResourceInTrash = defineNotFound('resource_in_trash', 'The resource is in the trash.');
export const NotInTrash = defineConflict('not_in_trash', 'The resource is not in the trash.');
export const ContentNotSupported = defineInvalid(
  'content_not_supported',
  'Resources of the type {type} have no content of this kind.',
);
export const UnsupportedFormat = defineInvalid('unsupported_format', 'The content is available as: {formats}.');
export const UseFilesEndpoint = defineInvalid('use_files_endpoint', 'Files are created by POST /files.');
export const NotAFile = defineInvalid('not_a_file', 'The resource is no file; its type is {type}.');
export const ParentNotContainer = defineInvalid(
  'parent_not_container',
  'Resources of the type {type} cannot contain others.',
);
export const DocumentTooComplex = defineInvalid(
  'document_too_complex',
  'Reading the document takes more than {seconds} seconds, or too much memory. Split it, or nest less.',
);
export const DocumentTooNested = defineInvalid(
  'document_too_complex',
  'HTML in a document may have at most {limit} nested elements.',
);
export const NotADocument = defineInvalid(
  'not_a_document',
  'Only documents have comments; the type of the resource is {type}.',
);
export const NoSuchSnapshot = defineNotFound('not_found', 'The resource has no such snapshot.');
export const MissingTarget = defineInvalid(
  'missing_target',
  'permission_id, or principal_type with principal_id, is required.',
);
export const AmbiguousTarget = defineInvalid(
  'ambiguous_target',
  'permission_id and principal_type name different permissions.',
);
export const RoleEscalation = defineForbidden(
  'role_escalation',
  'You cannot grant a role above your own, which is {own}.',
);
export const ExternalSharingDisabled = defineForbidden(
  'external_sharing_disabled',
  'The Org does not allow sharing with people outside of it.',
);

export const PublishingDisabled = defineForbidden('publishing_disabled', 'The Org does not allow public publishing.');

/** Errors about the current state of a resource. HTTP answers each of them with 409. */
export const CycleDetected = defineConflict('cycle_detected', 'A resource cannot be moved below itself.');
export const DepthExceeded = defineConflict('depth_exceeded', 'The tree would be deeper than {limit} levels.');
export const ResourceLocked = defineConflict('resource_locked', 'The resource is locked.');
export const FileNotReady = defineConflict('file_not_ready', 'The file has no content yet: its status is {status}.');
export const ExternalIdTaken = defineConflict(
  'external_id_taken',
  'The external_id {external_id} is taken in this workspace.',
);
export const EditNotApplicable = defineError(
  'ABORTED',
  'edit_not_applicable',
  'An edit does not apply to the text as it is now; nothing was changed.',
);
export const SnapshotProtected = defineConflict(
  'snapshot_protected',
  'The newest automatic snapshot can be deleted when it is a day old.',
);
export const LastOwner = defineConflict('last_owner', 'The last owner can neither be removed nor lose the role.');
export const InheritedPermission = defineConflict(
  'inherited_permission',
  'The permission is inherited: change it where it comes from, or restrict the resource.',
);
export const MemberUnavailable = defineConflict(
  'member_unavailable',
  'The person who has asked does not belong to the Org or workspace any more.',
);
export const RequestNotPending = defineConflict('request_not_pending', 'The access request is {status}.');
export const PublicationSuspended = defineConflict(
  'publication_suspended',
  'An operator of this installation has suspended the publication; only an operator can resume it.',
);
export const SlugTaken = defineConflict('slug_taken', 'The slug {slug} is taken.');
export const DomainTaken = defineConflict('domain_taken', 'The domain {domain} belongs to another publication.');
export const IsPublished = defineConflict(
  'already_exists',
  'The workspace is published already: use PATCH to change the publication.',
);
export const HasAccess = defineConflict('already_exists', 'You have this role already.');
export const TemplateNotReady = defineConflict('template_not_ready', 'The template is {status}.');

/** Returns the error for a request that needs another scope than its credential has; `details.scope` names it. */
export const insufficientScope = (scope: string): AppError => InsufficientScope({ scope });

/** Returns the error for a person who makes too many access requests an hour. `retryAfter` is in seconds. */
export function tooManyRequests(limit: number, retryAfter: number): AppError {
  const message = `A person may make at most ${limit} access requests an hour.`;
  return rateLimitError({ policy: 'access_requests', limit, windowSeconds: 3600, retryAfter, reason: 'rate' }, message);
}

/** Errors about forms. */
export const NotATable = defineInvalid('not_a_table', 'Only tables have forms; the type of the resource is {type}.');
export const FormNotFound = defineNotFound('form_not_found', 'There is no such form.');
export const FormExists = defineConflict('form_already_exists', 'The table has a form already.');
export const FormInactive = defineConflict('form_inactive', 'The form is switched off.');
export const FormClosed = defineConflict('form_closed', 'The form is closed.');
export const FormUnanswerable = defineConflict(
  'form_closed',
  'The form is closed: its table no longer has a column for any of its fields.',
);
export const SubmissionLimitReached = defineConflict(
  'submission_limit_reached',
  'The form has reached its maximum number of submissions.',
);
export const AlreadyResponded = defineConflict('submission_limit_reached', 'The form accepts one response per person.');
export const PayloadTooLarge = defineInvalid(
  'payload_too_large',
  'The values of a submission may have at most {limit} bytes, not counting files.',
);
