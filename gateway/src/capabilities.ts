import type { Caller } from '@commonplace/kit/auth';
import type { Capabilities } from '@commonplace/proto/gateway/v1/capability_service.js';
import { type Policies, WINDOW_SECONDS } from './middleware/policies.js';
import { opens } from './middleware/scope.js';
import type { Route } from './routes.js';

export interface CapabilityParts {
  readonly routes: readonly Route[];
  readonly policies: Policies;
  readonly serverVersion: string;
  readonly publicUrl: string;
  readonly bodyBytes: number;
  readonly fileBytes: number;
  readonly inlineFileBytes: number;
  /** There is a model to search by meaning with. */
  readonly semanticSearch: boolean;
}

/** What this server offers, and what of it the caller's scopes open. */
export function capabilitiesFor(caller: Caller, parts: CapabilityParts): Capabilities {
  const { scopes } = caller.credential;
  return {
    apiVersion: 'v1',
    previewStatus: 'preview',
    serverVersion: parts.serverVersion,
    scopes: [...scopes],
    endpoints: parts.routes
      .filter((route) => route.scope !== 'public' && opens(route, scopes))
      .map(({ method, path, scope, preview }) => ({ method, path, scope, status: preview ? 'preview' : 'stable' })),
    features: {
      semantic_search: parts.semanticSearch,
      streaming: false,
      idempotency: true,
      etags: true,
      cursors: true,
    },
    limits: {
      ...LIMITS,
      json_body_bytes: parts.bodyBytes,
      file_bytes: parts.fileBytes,
      inline_file_bytes: parts.inlineFileBytes,
    },
    rateLimits: Object.entries(parts.policies)
      .filter(([name]) => name !== 'auth' && name !== 'concurrent')
      .map(([name, limit]) => ({ name, limit, windowSeconds: WINDOW_SECONDS })),
    deprecations: [],
    changelogUrl: `${parts.publicUrl}/docs/changelog`,
  };
}

/** Limits that a client plans by (api: 5). */
const LIMITS = {
  name_chars: 255,
  description_chars: 2000,
  tree_depth: 32,
  list_limit: 200,
  list_offset: 10_000,
  search_limit: 50,
  search_query_chars: 1000,
  document_bytes: 5 * 1024 * 1024,
  metadata_bytes: 16 * 1024,
  idempotency_window_seconds: 86_400,
};
