/** Milliseconds that a call of a server may take where its owner has set no other time. */
export const CALL_MS = 30_000;
/** Milliseconds that a call may take at the most. */
export const MAX_CALL_MS = 120_000;
/** Milliseconds that listing the tools of a server may take. */
export const LIST_MS = 30_000;
/** Milliseconds that a server may take to refuse a request without a token. */
export const CHALLENGE_MS = 3_000;
/** Milliseconds that finding an authorization server and registering there may take. */
export const DISCOVERY_MS = 10_000;
/** Milliseconds that a request for tokens may take: less than its lease. */
export const TOKEN_MS = 15_000;
/** Milliseconds for which nobody else refreshes the tokens that somebody has begun to refresh. */
export const REFRESH_LEASE_MS = 30_000;
/** Milliseconds after which an authorization that was begun is no longer completed. */
export const AUTHORIZATION_MS = 600_000;
/** Milliseconds for which the era of a server's protocol is taken as known. */
export const VERDICT_MS = 86_400_000;

/** Bytes of all answers to one connection to a server. */
export const MAX_CALL_BYTES = 4 * 1024 * 1024;
export const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Bytes of all answers while finding an authorization server, registering there, or asking it for tokens. */
export const MAX_OAUTH_BYTES = 256 * 1024;
/** Pages of a list of tools. */
export const MAX_LIST_PAGES = 20;

/** Images of one result that are stored. */
export const MAX_RESULT_IMAGES = 8;

export const MAX_SCHEMA_BYTES = 64 * 1024;
export const MAX_SCHEMA_DEPTH = 16;
/** Bytes of the schemas and descriptions of one server's tools together. */
export const MAX_TOOLS_BYTES = 512 * 1024;
/** Characters of a description that a model is given. */
export const MAX_DESCRIPTION = 1_024;
/** Characters of a name that models accept. */
export const MAX_TOOL_NAME = 64;
/** Characters of a name that a server gives to a tool. */
export const MAX_SERVER_TOOL_NAME = 128;

/** Questions that a server may ask during one call. */
export const MAX_ROUNDS = 10;
export const MAX_REQUEST_STATE_BYTES = 64 * 1024;
/** Bytes of what a modern server says of itself, as far as it is kept. */
export const MAX_DISCOVER_BYTES = 64 * 1024;
/** Characters of an error that the owner is shown. */
export const MAX_ERROR = 500;

/** How long a list of tools counts as fresh: as long as the server says, within these bounds. */
export const MIN_LIST_TTL_MS = 60_000;
export const MAX_LIST_TTL_MS = 3_600_000;

/** Milliseconds that a registration at an authorization server is used, after which this client registers anew. */
export const CLIENT_MS = 90 * 24 * 3600 * 1000;
