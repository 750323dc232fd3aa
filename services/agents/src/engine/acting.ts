import { AppError } from '@commonplace/kit/errors';
import type { CallOptions } from '@commonplace/kit/rpc';
import { agentRoleName } from '@commonplace/platform/memberships';
import type { ActAsRequest, ActingAgent } from '@commonplace/proto/identity/v1/auth_service.js';
import { insufficientScope } from '../errors.js';
import type { Parts } from '../parts.js';
import type { AgentRecord } from '../stores/agents.js';
import type { RunRecord } from '../stores/runs.js';
import { type AgentTerms, readAgentTerms } from './agent-terms.js';
import { RunFailure } from './failure.js';
import type { AgentParts } from './run-agent.js';

/** What a call needs beside the rights of the run. */
export interface Need {
  /** A scope that the run must have; the service that is called checks it too. */
  readonly scope?: string | undefined;
  /** The call reads something that the person has named, which may be in another workspace than the run. */
  readonly isNamed?: boolean | undefined;
}

/**
 * Returns the options of a call on behalf of the person who started a run, by its agent, with a deadline in `timeoutMs`.
 * The agent's rights are read before each call. Throws `insufficient_scope`, and the failure `permission_lost`.
 */
export type Acting = (timeoutMs?: number, need?: Need) => Promise<CallOptions>;

const CALL_MS = 20_000;
/** Milliseconds before its expiry at which a token is renewed: it outlives the call, also where the owner is slow. */
const SPARE_MS = CALL_MS;

interface Token {
  /** What the token was asked for: with anything else, another one is. */
  readonly key: string;
  readonly token: string;
  readonly until: number;
}

type ActingParts = AgentParts & Pick<Parts, 'auth'>;

/**
 * Acts as the person who started a run, as long as they belong to its tenant, and as its agent, as long as that has the
 * right. `current` returns the run as it is now. No token is stored.
 */
export function actingFor(parts: ActingParts, current: () => RunRecord, signal: AbortSignal): Acting {
  const { auth, systemCall } = parts;
  const tokens = new Map<boolean, Token>();
  return async (timeoutMs = CALL_MS, { scope, isNamed = false } = {}) => {
    const run = current();
    const terms = await readAgentTerms(parts, run);
    if (scope !== undefined && !terms.scopes.includes(scope)) throw insufficientScope(scope);
    const request = requestOf(run, terms, isNamed);
    // An agent that has changed, or that has read untrusted content since, acts by a new token at once.
    const key = JSON.stringify(request);
    let known = tokens.get(isNamed);
    if (known?.key !== key || Date.now() > known.until - SPARE_MS) {
      const answer = await auth.actAs(request, systemCall()).catch(lostAccess);
      known = { key, token: answer.token, until: Date.parse(answer.expiresAt ?? '') };
      tokens.set(isNamed, known);
    }
    const { metadata, deadline: _, ...rest } = systemCall(timeoutMs);
    return { ...rest, metadata: { ...metadata, token: known.token }, deadline: Date.now() + timeoutMs, signal };
  };
}

function requestOf(run: RunRecord, { agent, scopes }: AgentTerms, isNamed: boolean): ActAsRequest {
  const { userId, orgId, workspaceId, chain = [] } = run;
  return {
    ...{ userId, orgId, scopes: [...scopes] },
    agent: agent && actingAgent(agent, run),
    workspaceIds: workspaceId === undefined || isNamed ? [] : [workspaceId],
    automation: undefined,
    chain: [...chain],
  };
}

function actingAgent({ id, name, places }: AgentRecord, { taintSources = [] }: RunRecord): ActingAgent {
  const roles = places.map(({ workspaceId, role }) => ({ workspaceId, role: agentRoleName(role) }));
  return { id, name, roles, tainted: taintSources.length > 0 };
}

/** Throws the failure of a run whose person has lost access; rethrows other errors, which are retried. */
function lostAccess(error: unknown): never {
  if (error instanceof AppError && REFUSALS.has(error.code)) {
    throw new RunFailure('permission_lost', 'The person who started the run has no access any more.', false);
  }
  throw error;
}

const REFUSALS: ReadonlySet<AppError['code']> = new Set(['PERMISSION_DENIED', 'NOT_FOUND', 'UNAUTHENTICATED']);
