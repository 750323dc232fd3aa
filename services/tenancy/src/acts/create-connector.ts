import { isDeepStrictEqual } from 'node:util';
import { personBehind } from '@commonplace/kit/auth';
import { type Fault, invalidField, invalidFields } from '@commonplace/kit/errors';
import { type Guard, UrlNotAllowed } from '@commonplace/kit/fetch';
import { newId } from '@commonplace/kit/id';
import type { CallContext } from '@commonplace/kit/rpc';
import type { CreateConnectorRequest } from '@commonplace/proto/tenancy/v1/connector_service.js';
import {
  type AuthType,
  type ConnectorType,
  faultsOfConfig,
  objectIn,
  readCredentials,
  TERMS,
} from '../domain/connector-terms.js';
import { fullOrgSettings } from '../domain/org-settings.js';
import { publishConnector } from '../events.js';
import type { Parts } from '../parts.js';
import { requireActiveWorkspace, type WorkspaceAccess } from '../policy.js';
import type { Connector } from '../stores/connectors.js';
import type { Workspace } from '../stores/workspaces.js';
import { clientFor } from '../upstream/oauth-clients.js';
import { connectorTypeOf } from '../wire/connector.js';
import { authorizeUrlFor } from './authorize.js';

/** A validated request to create a connector. */
interface Draft {
  readonly type: ConnectorType;
  readonly config: object;
  readonly authType: AuthType;
  /** The credentials as JSON. */
  readonly secret: string | undefined;
}

/** Adds a connector. For OAuth it also returns a new authorization URL, each time that it is called. */
export async function addConnector(
  parts: Parts,
  context: CallContext,
  { workspace }: WorkspaceAccess,
  request: CreateConnectorRequest,
): Promise<{ connector: Connector; authorizeUrl?: string }> {
  const { type, config, authType, secret } = readDraft(parts, await guardOf(parts, workspace), request);
  requireActiveWorkspace(workspace);
  const others = await parts.connectors.ofWorkspace(workspace.id);
  const client = clientFor(parts.settings, type);
  const name = request.name ?? TERMS[type].name;
  const known = others.find((one) => authType === 'oauth2' && isSame(one, { type, name, config, authType }));
  if (known !== undefined && client !== undefined) {
    context.reply.status = 200;
    return { connector: known, authorizeUrl: await authorizeUrlFor(parts, context, known, client) };
  }
  await parts.quotas.connectors.reserve(context.work, workspace.id);
  const [id, now] = [newId(), parts.now()];
  const connector = context.work.insert(parts.connectors.records, {
    id,
    tenant: workspace.tenant,
    workspaceId: workspace.id,
    type,
    name,
    config: JSON.stringify(config),
    authType,
    status: authType === 'oauth2' ? 'pending' : 'active',
    ...(secret === undefined ? {} : { sealed: parts.envelope.seal(secret, { tenant: workspace.tenant, record: id }) }),
    createdBy: context.actor,
    createdForId: personBehind(context.actor, context.caller),
    createdAt: now,
    updatedAt: now,
  });
  publishConnector(context, 'created', connector);
  if (authType !== 'oauth2' || client === undefined) return { connector };
  return { connector, authorizeUrl: await authorizeUrlFor(parts, context, connector, client) };
}

/**
 * Returns whether an existing OAuth connector equals the requested one. A repeated request then reuses it, so that
 * another person connects or the same one connects again.
 */
function isSame(
  one: Connector,
  { config, ...facts }: Pick<Connector, 'type' | 'name' | 'authType'> & { config: object },
) {
  const { type, name, authType } = one;
  return isDeepStrictEqual({ type, name, authType }, facts) && isDeepStrictEqual(JSON.parse(one.config), config);
}

function readDraft(parts: Parts, guard: Guard, request: CreateConnectorRequest): Draft {
  const type = connectorTypeOf(request.type);
  const config = objectIn(request.config);
  const faults: Fault[] = faultsOfConfig(type, config, (url) => refusalOf(guard, url));
  const given = objectIn(request.credentials);
  if (Object.keys(given).length > 0) {
    const read = readCredentials(type, given);
    if ('faults' in read) throw invalidFields([...faults, ...read.faults]);
    if (faults.length > 0) throw invalidFields(faults);
    return { type, config, authType: read.auth, secret: JSON.stringify(given) };
  }
  if (faults.length > 0) throw invalidFields(faults);
  if (clientFor(parts.settings, type) !== undefined) return { type, config, authType: 'oauth2', secret: undefined };
  if (TERMS[type].open) return { type, config, authType: 'none', secret: undefined };
  throw invalidField(
    'credentials',
    'missing_field',
    `are required: no client of ${TERMS[type].name} is registered here.`,
  );
}

/** Returns the guard for URLs of a workspace, as its Org's list narrows it. */
async function guardOf({ guard, orgs }: Parts, { orgId }: Workspace): Promise<Guard> {
  const org = orgId === undefined ? undefined : await orgs.records.get(orgId);
  return org === undefined ? guard : guard.narrowedTo(fullOrgSettings(org.settings).urlAllowlist);
}

/** Returns the reason why a URL may not be called; undefined if it may. */
function refusalOf(guard: Guard, url: string): string | undefined {
  try {
    guard.check(url);
    return undefined;
  } catch (error) {
    if (error instanceof UrlNotAllowed) return error.message;
    throw error;
  }
}
