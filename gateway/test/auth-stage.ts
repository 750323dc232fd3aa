import { randomUUID } from 'node:crypto';
import { type Caller, KNOWN_SCOPES } from '@commonplace/kit/auth';
import { readConfig } from '@commonplace/kit/config';
import { AppError, invalidField } from '@commonplace/kit/errors';
import { createEndedSessions, createSecurityHeaders } from '@commonplace/kit/http';
import { silentLog } from '@commonplace/kit/log';
import { type CallOptions, type Client, openShedding } from '@commonplace/kit/rpc';
import { type Approval, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import type { ApprovalService, DecideApprovalRequest } from '@commonplace/proto/agents/v1/approval_service.js';
import type { CompleteMcpAuthorizationRequest } from '@commonplace/proto/agents/v1/mcp_service.js';
import { ActorType } from '@commonplace/proto/api/v1/actor.js';
import type { BytesService } from '@commonplace/proto/files/v1/bytes_service.js';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { ApiKeyService } from '@commonplace/proto/identity/v1/api_key_service.js';
import type {
  AuthenticateRequest,
  AuthService,
  SignInRequest,
  SignInResponse,
  SignUpRequest,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { FormPageService } from '@commonplace/proto/resources/v1/form_page_service.js';
import { CompleteAuthorizationResponse } from '@commonplace/proto/tenancy/v1/connector_service.js';
import { createApp } from '../src/app.js';
import { config } from '../src/config.js';
import type { Invoke } from '../src/endpoint.js';
import { createEventStreams } from '../src/event-streams.js';
import { createFairShares, type FairShares, sharesOf } from '../src/fair-shares/index.js';
import { shareOfVisitors } from '../src/fair-shares/visitors.js';
import { watchUtilization } from '../src/fair-shares/watch-utilization.js';
import { openLargeBodies } from '../src/large-bodies/index.js';
import { openAnswerReader } from '../src/mcp/answers/index.js';
import { createLocalLimiter } from '../src/middleware/limiters.js';
import { createFailureLimit } from '../src/middleware/rate-limit.js';
import { createOpenPages } from '../src/raw/open.js';
import { createRoutes, type Route } from '../src/routes.js';
import { openHttpServer } from '../src/server.js';

export const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada <3' };
export const TOKEN = 'an-invitation';

/** A fake of identity as the gateway calls it: accounts and sessions in memory. */
export interface FakeIdentity {
  readonly client: Client<AuthService>;
  /** The calls received, newest last. */
  readonly calls: { rpc: string; request: object }[];
  /** Errors that the next call of an rpc fails with. */
  readonly failures: Map<string, unknown>;
  readonly sessions: Map<string, SignInResponse>;
  /** Warnings that the next sign-up answers. */
  warnings: { code: string; message: string }[] | undefined;
}

/** The real gateway over a fake identity. */
export interface AuthStage {
  readonly identity: FakeIdentity;
  /** Requests to complete the authorization of an MCP server. */
  readonly authorizations: (CompleteMcpAuthorizationRequest & { token: string | undefined })[];
  /** Authorizations that were completed and, below, the outcome of the next one. */
  readonly completions: { query: string; token: string | undefined }[];
  readonly completion: CompleteAuthorizationResponse;
  /** Approvals of the person, by id, and the decisions that were made. */
  readonly approvals: Map<string, Approval>;
  readonly decisions: DecideApprovalRequest[];
  readonly cookieName: string;
  readonly baseUrl: string;
  /** Errors that were logged. */
  readonly logged: string[];
  json(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  form(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export interface StageOptions {
  /** Settings of the gateway. */
  readonly env?: Readonly<Record<string, string>>;
  /** Answers the calls of endpoints instead of `{}`. */
  readonly invoke?: (route: Route) => Invoke;
  /** Shares the gateway between tenants. */
  readonly fairShares?: FairShares;
}

/** Starts the gateway on `port` with the public URL `publicUrl`. */
export async function openAuthStage(publicUrl: string, port = 0, options: StageOptions = {}): Promise<AuthStage> {
  const settings = readConfig(config, { COMMONPLACE_PUBLIC_URL: publicUrl, ...options.env });
  const routes = createRoutes();
  const identity = createFakeIdentity();
  const ended = createEndedSessions();
  const completions: AuthStage['completions'] = [];
  const authorizations: AuthStage['authorizations'] = [];
  const completion = CompleteAuthorizationResponse.fromPartial({ connectorName: 'Drive', connectionId: 'connection' });
  const cookieName = publicUrl.startsWith('https:') ? '__Host-session' : 'session';
  const logged: string[] = [];
  const approvals = new Map<string, Approval>();
  const decisions: DecideApprovalRequest[] = [];
  const fairShares =
    options.fairShares ??
    createFairShares(
      sharesOf(settings),
      watchUtilization(() => 0),
    );
  const share = shareOfVisitors(fairShares, settings.requestTimeoutMs);
  const largeBodies = openLargeBodies(settings);
  const answers = openAnswerReader(settings);
  const app = createApp({
    createLimiter: createLocalLimiter,
    invokeStream: () => () => {
      throw new Error('no stream is played');
    },
    streams: createEventStreams({ require: () => {}, open: () => () => {} }),
    largeBodies,
    answers,
    fairShares,
    share,
    denials: { note: () => {} },
    refusals: { note: () => {} },
    shedding: openShedding({ maxConcurrent: 0, maxDelayMs: 0 }),
    settings,
    routes,
    invoke: options.invoke ?? ((route) => (async () => (route.rpc === 'GetMe' ? { orgs: [] } : {})) as Invoke),
    authentication: {
      auth: identity.client,
      verifyCaller: async (token) => JSON.parse(token) as Caller,
      cookieName,
      ended,
      publicOrigin: new URL(publicUrl).origin,
      failures: createFailureLimit(settings.rateLimits),
      watch: undefined,
      timeoutMs: 1000,
    },
    open: createOpenPages({
      share,
      settings,
      routes,
      auth: identity.client,
      security: {
        getSignInOptions: async () => ({ oidc: false, passwordMinLength: 12 }),
      } as unknown as Client<AccountSecurityService>,
      apiKeys: {} as Client<ApiKeyService>,
      invitations: {
        describeInvitation: async ({ token }) => {
          if (token === 'wrong') throw refusal('NOT_FOUND', 'not_found', 'There is no such record.');
          const message = 'Welcome <all>';
          return { orgName: 'Acme & Sons', workspaceName: undefined, inviterName: 'Grace', message };
        },
      },
      mcpServers: {
        completeMcpAuthorization: async (request, { metadata }) => {
          authorizations.push({ ...request, token: metadata.token });
          return { agentId: 'a', agentName: 'Helper <b>', serverName: 'tickets' };
        },
      },
      connectors: {
        completeAuthorization: async (request, { metadata }) => {
          completions.push({ query: request.query, token: metadata.token });
          return { ...completion };
        },
      },
      approvals: fakeApprovals(approvals, decisions),
      cookieName,
      ended,
      health: { isReady: async () => true, details: () => ({}) },
      bytes: {} as Client<BytesService>,
      formPages: {} as Client<FormPageService>,
    }),
    readers: (_, next) => next(),
    log: { ...silentLog, error: (event) => logged.push(event) },
  });
  const server = await openHttpServer(app, '127.0.0.1', port, createSecurityHeaders(settings)());
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const send = (path: string, init: RequestInit) => fetch(baseUrl + path, { redirect: 'manual', ...init });
  return {
    identity,
    completions,
    authorizations,
    completion,
    approvals,
    decisions,
    cookieName,
    baseUrl,
    logged,
    get: (path, headers = {}) => send(path, { headers }),
    json: (path, body, headers = {}) =>
      send(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    form: (path, fields, headers = {}) => send(path, { method: 'POST', headers, body: new URLSearchParams(fields) }),
    close: async () => {
      await server.close(0);
      await largeBodies.close();
      await answers.close();
      fairShares.close();
    },
  };
}

/** Approvals as the agents service answers them; a decision whose edited input is an empty object is refused. */
function fakeApprovals(
  approvals: Map<string, Approval>,
  decisions: DecideApprovalRequest[],
): Pick<Client<ApprovalService>, 'getApproval' | 'listApprovals' | 'decideApproval'> {
  const find = (id: string): Approval => {
    const found = approvals.get(id);
    if (found === undefined) throw refusal('NOT_FOUND', 'not_found', 'There is no such record.');
    return found;
  };
  return {
    getApproval: async ({ approvalId }) => find(approvalId),
    listApprovals: async ({ status }) => ({
      items: [...approvals.values()].filter((approval) => approval.status === status),
      page: undefined,
    }),
    async decideApproval(request) {
      const approval = find(request.approvalId);
      if (approval.status !== ApprovalStatus.PENDING) {
        throw refusal('ABORTED', 'approval_not_pending', 'The approval is decided already.');
      }
      if (request.editedInput.toString() === '{}') {
        throw invalidField('edited_input', 'approval_input_invalid', 'edited_input does not follow the schema.');
      }
      decisions.push(request);
      const decidedBy = { type: ActorType.USER, id: 'ada', name: ADA.name };
      const decided = { ...approval, status: request.status, comment: request.comment, decidedBy };
      approvals.set(approval.id, { ...decided, decidedAt: '2026-11-23T14:05:00.000Z' });
      return decided;
    },
  };
}

function createFakeIdentity(): FakeIdentity {
  const accounts = new Map([[ADA.email, ADA]]);
  const sessions = new Map<string, SignInResponse>();
  const calls: FakeIdentity['calls'] = [];
  const failures = new Map<string, unknown>();

  const begin = ({ email, name }: typeof ADA): SignInResponse => {
    const user = { id: randomUUID(), name, email, avatarUrl: undefined, locale: 'en', timezone: 'UTC' };
    const session = randomUUID().replaceAll('-', '');
    const answer = {
      user,
      session,
      csrfToken: `csrf-of-${session.slice(0, 8)}`,
      expiresAt: inThirtyDays(),
      secondFactor: undefined,
    };
    sessions.set(session, answer);
    return answer;
  };
  const open = (session: string): SignInResponse => {
    const found = sessions.get(session);
    if (found === undefined) throw refusal('UNAUTHENTICATED', 'invalid_credentials', 'The credential is not valid.');
    return found;
  };

  const identity: FakeIdentity = { client: {} as Client<AuthService>, calls, failures, sessions, warnings: undefined };
  const rpcs = {
    async signIn({ email, password }: SignInRequest) {
      const account = accounts.get(email);
      if (account?.password !== password) {
        throw refusal('UNAUTHENTICATED', 'invalid_credentials', 'The e-mail address or the password is wrong.');
      }
      return begin(account);
    },
    async signUp({ email, password, name }: SignUpRequest, { reply }: CallOptions) {
      if (accounts.has(email))
        throw refusal('ALREADY_EXISTS', 'already_exists', 'An account with this address exists.');
      accounts.set(email, { email, password, name });
      if (reply !== undefined && identity.warnings !== undefined) reply.warnings = identity.warnings;
      return begin({ email, password, name });
    },
    async signOut({ session }: { session: string }) {
      sessions.delete(session);
      return {};
    },
    getSession: async ({ session }: { session: string }) => ({ ...open(session), session: '' }),
    async acceptInvitation({ session, invitationToken }: { session: string; invitationToken: string }) {
      open(session);
      if (invitationToken !== TOKEN) throw refusal('NOT_FOUND', 'expired_link', 'The invitation is used up.');
      return { orgId: undefined, workspaceId: 'a-workspace' };
    },
    async authenticate({ credential }: AuthenticateRequest) {
      const { csrfToken, user } = credential.startsWith('wsk_') ? begin(ADA) : open(credential);
      const caller = {
        userId: user?.id,
        userName: ADA.name,
        credential: { type: 'session', id: 's', scopes: KNOWN_SCOPES },
      };
      return { token: JSON.stringify(caller), csrfToken, credentialId: 's', expiresAt: undefined };
    },
  };
  for (const [rpc, run] of Object.entries(rpcs)) {
    (identity.client as Record<string, unknown>)[rpc] = async (request: object, options: CallOptions) => {
      calls.push({ rpc, request });
      const failure = failures.get(rpc);
      failures.delete(rpc);
      if (failure !== undefined) throw failure;
      return run(request as never, options);
    };
  }
  return identity;
}

function refusal(code: ConstructorParameters<typeof AppError>[0], reason: string, message: string): AppError {
  return new AppError(code, reason, message);
}

function inThirtyDays(): string {
  return new Date(Date.now() + 30 * 86_400_000).toISOString();
}

/** Returns the session cookie of an answer: its value and its attributes. */
export function cookieIn(answer: Response): { value: string; header: string; attributes: string[] } | undefined {
  const [cookie] = answer.headers.getSetCookie();
  if (cookie === undefined) return undefined;
  const [pair = '', ...attributes] = cookie.split('; ');
  return { value: pair.slice(pair.indexOf('=') + 1), header: pair, attributes };
}

/** Signs a person in. Returns what their requests need to send. */
export async function signedIn(stage: AuthStage): Promise<{ cookie: string; csrf: string; session: string }> {
  const answer = await stage.json('/auth/sign-in', { email: ADA.email, password: ADA.password });
  const { data } = (await answer.json()) as { data: { csrf_token: string } };
  const { header = '', value = '' } = cookieIn(answer) ?? {};
  return { cookie: header, csrf: data.csrf_token, session: value };
}
