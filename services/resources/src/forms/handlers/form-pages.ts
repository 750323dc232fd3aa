import { InsufficientRole, TenantBoundary } from '@commonplace/kit/errors';
import type { CallContext, Handlers } from '@commonplace/kit/rpc';
import { CredentialKind } from '@commonplace/proto/identity/v1/auth_service.js';
import {
  type FormPage,
  type FormPageField,
  type FormPageService,
  FormPageState,
} from '@commonplace/proto/resources/v1/form_page_service.js';
import type { BoundField } from '../columns.js';
import type { FoundForm } from '../known.js';
import { type ClosedBy, closedBy } from '../open.js';
import type { FormParts } from '../parts.js';
import { submitUrl } from '../shown.js';
import { findForm, readSubmission, submitReceived } from '../submit.js';

const STATES: Readonly<Record<ClosedBy, FormPageState>> = {
  inactive: FormPageState.INACTIVE,
  archived: FormPageState.INACTIVE,
  locked: FormPageState.INACTIVE,
  closed: FormPageState.CLOSED,
  full: FormPageState.FULL,
  unanswerable: FormPageState.CLOSED,
};

const NOTHING = Buffer.alloc(0);

/** Creates the handlers for hosted form pages, which are called without a caller. */
export function createFormPageHandlers(parts: FormParts): Handlers<FormPageService> {
  const { forms, peers } = parts;

  async function stateOf({ form, node }: FoundForm, context: CallContext): Promise<ClosedBy | undefined> {
    const { archived } = await parts.terms.of(node.workspaceId, context.onward);
    const tally = await forms.tallies.get(form.id);
    const binding = await forms.bindings.of(form, node);
    return closedBy({ form, tally, binding, archived, locked: node.locked, now: Date.now() });
  }

  return {
    async getFormPage({ token }, context) {
      const found = await findForm(parts, 'tokenHash', token);
      const { form, node } = found;
      const closed = await stateOf(found, context);
      const { config } = form;
      const page: FormPage = {
        formId: form.id,
        state: closed === undefined ? FormPageState.OPEN : STATES[closed],
        title: config.title,
        description: config.description,
        fields: [],
        submitLabel: config.submit_label,
        successMessage: config.success_message,
        language: config.language,
        submitUrl: submitUrl(parts.settings.publicUrl.replace(/\/$/, ''), token),
        credential: '',
        credentialExpiresAt: undefined,
        captchaBits: 0,
        captchaChallenge: '',
      };
      if (closed !== undefined) return page;
      const { fields } = await forms.bindings.of(form, node);
      const issued = await peers.users.issueSubmissionCredential(
        { formId: form.id, orgId: node.orgId ?? '' },
        context.onward,
      );
      const captcha = config.require_captcha ? forms.captcha.issue(form.id) : undefined;
      return {
        ...page,
        ...(captcha && { captchaBits: captcha.bits, captchaChallenge: captcha.challenge }),
        fields: fields.map(fieldMessage),
        credential: issued.credential,
        credentialExpiresAt: issued.expiresAt,
      };
    },

    async submitFormPage(request, context) {
      const found = await findForm(parts, 'tokenHash', request.token);
      const { credential, clientIp } = request;
      const kind = CredentialKind.BEARER;
      const asked = { kind, credential, clientIp, tenant: '', workspaceId: '' };
      const { token } = await peers.users.authenticate(asked, context.onward);
      const caller = await parts.verifyCaller(token);
      if (!caller.credential.scopes.includes('form:submit')) throw InsufficientRole();
      if (caller.credential.formId !== found.form.id) throw TenantBoundary();
      return submitReceived(parts, found, readSubmission(request, caller, context), context);
    },
  };
}

function fieldMessage({ column, ...field }: BoundField): FormPageField {
  const { visible_if: condition } = field;
  return {
    id: field.id,
    type: field.type,
    label: field.label,
    helpText: field.help_text,
    placeholder: field.placeholder,
    required: field.required ?? false,
    default: field.default === undefined ? NOTHING : Buffer.from(JSON.stringify(field.default)),
    options: [...(field.options ?? [])],
    min: field.min,
    max: field.max,
    minLength: field.min_length,
    maxLength: field.max_length,
    pattern: field.pattern,
    maxFiles: field.max_files,
    accept: [...(field.accept ?? [])],
    isFile: field.type === 'file' || (field.type === 'signature' && column?.type === 'attachment'),
    visibleIf: condition && {
      fieldId: condition.field_id,
      op: condition.op,
      value: condition.value === undefined ? NOTHING : Buffer.from(JSON.stringify(condition.value)),
    },
  };
}
