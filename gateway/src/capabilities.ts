import type { Caller } from '@commonplace/kit/auth';
import type { Capabilities, Deprecation } from '@commonplace/proto/gateway/v1/capability_service.js';
import { opens } from './middleware/scope.js';
import { isWithinLimit } from './middleware/workspace-limit.js';
import { CONCURRENCY_POLICIES, type Policies, type PolicyName, WINDOW_SECONDS } from './rate-limits.js';
import type { Route } from './routes.js';

interface CapabilityParts {
  readonly routes: readonly Route[];
  readonly policies: Policies;
  readonly deprecations: readonly Deprecation[];
  readonly serverVersion: string;
  readonly publicUrl: string;
  readonly bodyBytes: number;
  readonly fileBytes: number;
  readonly inlineFileBytes: number;
  readonly batchCalls: number;
  readonly batchBodyBytes: number;
  /** Whether an embedding model for semantic search is available. */
  readonly semanticSearch: boolean;
}

/** Returns what this server offers, and the endpoints that the caller's credential may use. */
export function capabilitiesFor(caller: Caller, parts: CapabilityParts): Capabilities {
  const { scopes } = caller.credential;
  return {
    apiVersion: 'v1',
    previewStatus: 'preview',
    serverVersion: parts.serverVersion,
    scopes: [...scopes],
    endpoints: parts.routes
      .filter((route) => route.scope !== 'public' && opens(route, scopes) && isWithinLimit(route, caller))
      .map(({ method, path, scope, preview }) => ({ method, path, scope, status: preview ? 'preview' : 'stable' })),
    features: {
      semantic_search: parts.semanticSearch,
      streaming: true,
      idempotency: true,
      etags: true,
      cursors: true,
    },
    limits: {
      ...LIMITS,
      json_body_bytes: parts.bodyBytes,
      file_bytes: parts.fileBytes,
      inline_file_bytes: parts.inlineFileBytes,
      batch_calls: parts.batchCalls,
      batch_body_bytes: parts.batchBodyBytes,
      ...concurrencyLimits(parts.policies),
    },
    rateLimits: Object.entries(parts.policies)
      .filter(([name]) => name !== 'auth' && !CONCURRENCY_POLICIES.has(name as PolicyName))
      .map(([name, limit]) => ({ name, limit, windowSeconds: WINDOW_SECONDS })),
    deprecations: [...parts.deprecations],
    changelogUrl: `${parts.publicUrl}/docs/changelog`,
  };
}

/** Returns how much a credential may have in progress at a time, as far as that is limited. */
function concurrencyLimits({ concurrent, streams }: Policies): Record<string, number> {
  return {
    ...(concurrent !== undefined && { concurrent_requests: concurrent }),
    ...(streams !== undefined && { open_streams: streams }),
  };
}

/** Limits by which clients can plan their requests (api: 5). */
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
