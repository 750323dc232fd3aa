import { readConfig } from '@commonplace/kit/config';
import { AppError, type Fault, invalidFields } from '@commonplace/kit/errors';
import type { DomainEvent } from '@commonplace/kit/events';
import { createEndedSessions } from '@commonplace/kit/http';
import { silentLog } from '@commonplace/kit/log';
import { type Client, openShedding } from '@commonplace/kit/rpc';
import type { Host } from '@commonplace/platform/runtime';
import type { McpService } from '@commonplace/proto/agents/v1/mcp_service.js';
import type { BytesService } from '@commonplace/proto/files/v1/bytes_service.js';
import type { AccountSecurityService } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { ApiKeyService } from '@commonplace/proto/identity/v1/api_key_service.js';
import type { AuthService } from '@commonplace/proto/identity/v1/auth_service.js';
import type { FormSubmission } from '@commonplace/proto/resources/v1/form.js';
import type {
  FormPage,
  FormPageService,
  SubmitFormPageRequest,
} from '@commonplace/proto/resources/v1/form_page_service.js';
import { PublicationVisibility } from '@commonplace/proto/resources/v1/publication.js';
import {
  HostKind,
  type ReaderAddress,
  type ReaderPage,
  type ReaderService,
  type Revision,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { ConnectorService } from '@commonplace/proto/tenancy/v1/connector_service.js';
import type { DirectoryService } from '@commonplace/proto/tenancy/v1/directory_service.js';
import { openReaders } from '@commonplace/site/reader';
import { createApp } from '../../src/app.js';
import { config } from '../../src/config.js';
import type { Invoke } from '../../src/endpoint.js';
import { createEventStreams } from '../../src/event-streams.js';
import { createFairShares, sharesOf } from '../../src/fair-shares/index.js';
import { shareOfVisitors } from '../../src/fair-shares/visitors.js';
import { watchUtilization } from '../../src/fair-shares/watch-utilization.js';
import { openLargeBodies } from '../../src/large-bodies/index.js';
import { openAnswerReader } from '../../src/mcp/answers/index.js';
import { createLocalLimiter } from '../../src/middleware/limiters.js';
import { createFailureLimit, createRateGate } from '../../src/middleware/rate-limit.js';
import { createOpenPages, type OpenParts } from '../../src/raw/open.js';
import { createRoutes } from '../../src/routes.js';
import { openHttpServer } from '../../src/server.js';
import { FORM, pageAt, png } from './fixture.js';

export const PASSWORD = 'open sesame';
export const TOKEN = 'A'.repeat(32);
const DOMAIN = 'docs.example.com';
const PROOF = 'a-proof';
/** The pass that opens the frame of the dial. */
export const PASS = '1.a-pass';

/** The real gateway over a fake resources service with one publication, `handbook`, and one form. */
export interface PagesStage {
  readonly baseUrl: string;
  /** Calls received, newest last. */
  readonly calls: { readonly rpc: string; readonly request: object }[];
  /** Present state of the publication and the form. */
  readonly state: {
    revision: string;
    locked: boolean;
    missing: boolean;
    gone: boolean;
    indexed: boolean;
    theme: string;
    html: string | undefined;
    form: FormPage;
    faults: Fault[];
    failure: AppError | undefined;
    redirectUrl: string | undefined;
  };
  readonly submitted: SubmitFormPageRequest[];
  /** Changes what is served, and notifies the gateway. */
  change(changes: Partial<PagesStage['state']>): void;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(path: string, fields: Record<string, string> | FormData, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export async function openPagesStage(
  options: {
    readonly port?: number;
    readonly publicUrl?: string;
    readonly contentUrl?: string;
    readonly rateLimits?: string;
    /** Whether `change` notifies the gateway, as in one process with the services. */
    readonly isTold?: boolean;
  } = {},
): Promise<PagesStage> {
  const { port = 0, publicUrl = 'http://127.0.0.1:1', contentUrl, rateLimits, isTold = true } = options;
  const watchers: (() => void)[] = [];
  const watch: Host['watchOwn'] = async (_, handler) => {
    watchers.push(() => handler({} as DomainEvent));
    return { close: async () => {} };
  };
  const env = {
    COMMONPLACE_PUBLIC_URL: publicUrl,
    ...(contentUrl && { COMMONPLACE_CONTENT_URL: contentUrl }),
    ...(rateLimits && { COMMONPLACE_RATE_LIMITS: rateLimits }),
  };
  const settings = readConfig(config, env);
  const state: PagesStage['state'] = {
    revision: '1',
    locked: false,
    missing: false,
    gone: false,
    indexed: true,
    theme: 'auto',
    html: undefined,
    form: FORM,
    faults: [],
    failure: undefined,
    redirectUrl: undefined,
  };
  const calls: PagesStage['calls'][number][] = [];
  const submitted: SubmitFormPageRequest[] = [];
  const reader = recorded(playReader(state), calls);
  const formPages = recorded(playForms(state, submitted), calls);
  const routes = createRoutes();
  const ended = createEndedSessions();
  const auth = {} as Client<AuthService>;
  const fairShares = createFairShares(
    sharesOf(settings),
    watchUtilization(() => 0),
  );
  const share = shareOfVisitors(fairShares, settings.requestTimeoutMs);
  const readers = openReaders({
    share,
    limitSearches: createRateGate(settings.rateLimits)({ limits: ['reader'], scope: 'public' }),
    reader,
    auth,
    cookieName: 'session',
    ended,
    settings,
    call: () => ({ metadata: { requestId: '' }, deadline: Date.now() + 1000 }),
    watch: isTold ? watch : undefined,
  });
  await readers.begin();
  const app = createApp({
    createLimiter: createLocalLimiter,
    settings,
    routes,
    readers: readers.serve,
    invokeStream: () => () => {
      throw new Error('no stream is played');
    },
    streams: createEventStreams({ require: () => {}, open: () => () => {} }),
    largeBodies: openLargeBodies(settings),
    answers: openAnswerReader(settings),
    fairShares,
    share,
    shedding: openShedding({ maxConcurrent: 0, maxDelayMs: 0 }),
    invoke: () => (async () => ({})) as Invoke,
    authentication: {
      auth,
      verifyCaller: async () => Promise.reject(new Error('nobody calls')),
      cookieName: 'session',
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
      auth,
      security: {} as Client<AccountSecurityService>,
      apiKeys: {} as Client<ApiKeyService>,
      invitations: {} as Client<DirectoryService>,
      connectors: {} as Client<ConnectorService>,
      approvals: {} as OpenParts['approvals'],
      mcpServers: {} as Client<McpService>,
      cookieName: 'session',
      ended,
      health: { isReady: async () => true, details: () => ({}) },
      bytes: {} as Client<BytesService>,
      formPages,
    }),
    denials: { note: () => {} },
    refusals: { note: () => {} },
    log: silentLog,
  });
  const server = await openHttpServer(app, '127.0.0.1', port);
  const baseUrl = `http://127.0.0.1:${server.port}`;
  const send = (path: string, init: RequestInit) => fetch(baseUrl + path, { redirect: 'manual', ...init });
  return {
    baseUrl,
    calls,
    state,
    change(changes) {
      Object.assign(state, changes);
      for (const notify of watchers) notify();
    },
    submitted,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, fields, headers = {}) =>
      send(path, { method: 'POST', headers, body: fields instanceof FormData ? fields : new URLSearchParams(fields) }),
    async close() {
      await server.close(0);
      await readers.close();
    },
  };
}

function recorded<T extends object>(client: T, calls: PagesStage['calls'][number][]): T {
  const entries = Object.entries(client).map(([rpc, run]) => [
    rpc,
    async (request: object, ...rest: unknown[]) => {
      calls.push({ rpc, request });
      return (run as (...given: unknown[]) => unknown)(request, ...rest);
    },
  ]);
  return Object.fromEntries(entries) as T;
}

function playReader(state: PagesStage['state']): Client<ReaderService> {
  const kindOf = (host: string) => (host === DOMAIN ? HostKind.DOMAIN : HostKind.PUBLIC);
  const revision = ({ host }: ReaderAddress): Revision => ({
    hostKind: kindOf(host),
    publicationId: state.missing ? '' : 'publication',
    revision: state.revision,
    validUntil: undefined,
    private: state.locked,
  });
  const isHere = ({ slug, host }: ReaderAddress) =>
    !state.missing && (slug === 'handbook' || kindOf(host) === HostKind.DOMAIN);
  const gate = () => ({ path: '/p/handbook', theme: state.theme, language: 'en' });
  const refusal = (address: ReaderAddress) => {
    if (!isHere(address)) return { missing: { gone: state.gone, refused: false } };
    return state.locked && address.proof !== PROOF ? { passwordRequired: gate() } : undefined;
  };
  const visibility = () => (state.locked ? PublicationVisibility.PASSWORD : PublicationVisibility.PUBLIC);
  const shaped = (page: ReaderPage): ReaderPage => ({
    ...page,
    indexed: state.indexed,
    face: page.face && { ...page.face, theme: state.theme, visibility: visibility() },
    artifact: page.artifact && { ...page.artifact, pass: state.locked ? PASS : undefined },
  });
  const client: Partial<Client<ReaderService>> = {
    getRevision: async ({ address }) => revision(address as ReaderAddress),
    async readPage({ address, path, offset }) {
      const here = address as ReaderAddress;
      const page = pageAt(path, offset, state.html);
      const passed = path === 'dial' && here.pass === PASS;
      const refused =
        (passed ? undefined : refusal(here)) ??
        (page === undefined ? { missing: { gone: false, refused: false } } : undefined);
      if (path === 'old')
        return { revision: revision(here), redirect: { location: 'https://wiki.example.com/p/handbook' } };
      return { revision: revision(here), ...(refused ?? { page: shaped(page as ReaderPage) }) };
    },
    async searchPublication({ address, query, offset }) {
      const page = pageAt('') as ReaderPage;
      const items = page.tree.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase()));
      const found = items.map((entry) => ({ entry, excerpt: `A text about ${entry.name} and more` }));
      // Returns two results at a time, with further pages.
      const pages =
        query === 'every'
          ? {
              face: shaped(page).face,
              items: page.tree.slice(0, 2).map((entry) => ({ entry, excerpt: '' })),
              hasMore: offset < 4,
            }
          : { face: shaped(page).face, items: found, hasMore: false };
      return { revision: revision(address as ReaderAddress), ...(refusal(address as ReaderAddress) ?? { pages }) };
    },
    async openPublishedFile({ address, fileId }) {
      const file = {
        name: 'Plan & map.png',
        contentType: 'image/png',
        sizeBytes: PICTURE.length,
        etag: 'bytes-1',
        inline: true,
      };
      const found = fileId === 'plan' ? { file } : { missing: { gone: false, refused: false } };
      return { revision: revision(address as ReaderAddress), ...(refusal(address as ReaderAddress) ?? found) };
    },
    readPublishedFile: async ({ offset, length }) => ({
      data: PICTURE.subarray(offset, offset + length),
      etag: 'bytes-1',
    }),
    async checkPublicationPassword({ address, password }) {
      const known = { revision: revision(address as ReaderAddress) };
      if (password === PASSWORD)
        return {
          ...known,
          proof: { proof: PROOF, expiresInSeconds: 3600, rememberedSeconds: 7200, path: '/p/handbook' },
        };
      return { ...known, refused: { retryAfterSeconds: password === 'again' ? 120 : 0, triesLeft: 3 } };
    },
    async listIndexed({ host }) {
      const page = pageAt('') as ReaderPage;
      const items = page.tree.map(({ path, updatedAt, depth }) => ({
        url: `https://wiki.example.com${path}`,
        path,
        updatedAt,
        language: 'en',
        isPublication: depth === 0,
      }));
      return { hostKind: kindOf(host), items: state.indexed ? items : [], nextCursor: '' };
    },
    countViews: async () => ({}),
  };
  return client as Client<ReaderService>;
}

const PICTURE = png(720, 240);

function playForms(state: PagesStage['state'], submitted: SubmitFormPageRequest[]): Client<FormPageService> {
  const client: Partial<Client<FormPageService>> = {
    async getFormPage({ token }) {
      if (token !== TOKEN) throw new AppError('NOT_FOUND', 'form_not_found', 'There is no such form.');
      return state.form;
    },
    async submitFormPage(request): Promise<FormSubmission> {
      if (state.failure !== undefined) throw state.failure;
      const values = JSON.parse(request.values.toString('utf8')) as Record<string, unknown>;
      const faults = state.faults.filter(({ param }) => !Object.hasOwn(values, param.slice('values.'.length)));
      if (faults.length > 0) throw invalidFields(faults);
      submitted.push(request);
      return {
        submissionId: request.submissionId,
        rowId: 'row',
        submittedAt: '2026-10-05T09:00:00.000Z',
        successMessage: 'Welcome aboard.',
        redirectUrl: state.redirectUrl,
      };
    },
  };
  return client as Client<FormPageService>;
}
