import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import { invalidField } from '@commonplace/kit/errors';
import { ApiKeyType } from '@commonplace/proto/identity/v1/api_key_service.js';
import type Router from '@koa/router';
import { mountAccountAction } from '../auth/action.js';
import type { AuthParts } from '../auth/parts.js';
import type { Submission } from '../auth/submission.js';
import { callAs } from './caller.js';
import { keyPage } from './key-page.js';
import { doneAt, renderAccountErrors } from './view.js';

const DAY_MS = 86_400_000;
const MAX_KEY_DAYS = 3650;
const MAX_NAME_LENGTH = 255;
const SCOPE_FIELD = 'scope:';

/** Serves personal API keys from the account page; programs use `/api/v1/api-keys`. */
export function mountKeys(router: Router, parts: AuthParts): void {
  mountAccountAction(router, parts, {
    path: '/auth/account/keys',
    async run({ ctx, sent, session }) {
      const wanted = readKey(sent);
      const key = await parts.apiKeys.createApiKey(
        {
          ...wanted,
          type: ApiKeyType.PERSONAL,
          orgId: undefined,
          workspaceIds: [],
          ipAllowlist: [],
          description: undefined,
          namedFields: [],
        },
        await callAs(ctx, parts, session),
      );
      const { id, key: secret = '' } = key;
      return { data: JSON.stringify({ id, key: secret }), page: keyPage(key.name, secret) };
    },
    renderErrors: renderAccountErrors(parts, 'key'),
  });

  mountAccountAction(router, parts, {
    path: '/auth/account/keys/revoke',
    async run({ ctx, sent, session }) {
      const keyId = String(sent.body.key_id ?? '');
      await parts.apiKeys.deleteApiKey({ keyId }, await callAs(ctx, parts, session));
      return { data: JSON.stringify({ id: keyId, deleted: true }), next: doneAt('key_revoked') };
    },
    renderErrors: renderAccountErrors(parts),
  });
}

/**
 * Reads the fields of a new key. Each scope has a form field of its own, because a submission has one value per field.
 */
function readKey({ body }: Submission): { name: string; scopes: string[]; expiresAt: string | undefined } {
  const name = String(body.name ?? '').trim();
  if (name === '' || name.length > MAX_NAME_LENGTH) {
    throw invalidField('key_name', 'invalid_value', `A key needs a name of at most ${MAX_NAME_LENGTH} characters.`);
  }
  const scopes = KNOWN_SCOPES.filter((scope) => body[SCOPE_FIELD + scope] === 'on');
  if (scopes.length === 0) throw invalidField('scopes', 'missing_field', 'Choose one scope or more.');
  const days = Number(body.days ?? '');
  if (!Number.isInteger(days) || days < 0 || days > MAX_KEY_DAYS) {
    throw invalidField('days', 'invalid_value', `A key lasts from 1 to ${MAX_KEY_DAYS} days, or has no end.`);
  }
  const expiresAt = days === 0 ? undefined : new Date(Date.now() + days * DAY_MS).toISOString();
  return { name, scopes, expiresAt };
}
