/** Milliseconds that a call of a server may take by default. */
export const CALL_MS = 30_000;
/** Maximum milliseconds that an owner may set for a call. */
export const MAX_CALL_MS = 120_000;
/** Milliseconds that listing the tools of a server may take. */
export const LIST_MS = 30_000;
/** Milliseconds that a server may take to refuse a request without a token. */
export const CHALLENGE_MS = 3_000;
/** Milliseconds that finding an authorization server and registering there may take. */
export const DISCOVERY_MS = 10_000;
/** Milliseconds that a request for tokens may take; less than the lease of a refresh. */
export const TOKEN_MS = 15_000;
/** Milliseconds that a process holds the lease for refreshing the tokens of a grant. */
export const REFRESH_LEASE_MS = 30_000;
/** Milliseconds after which a pending authorization expires. */
export const AUTHORIZATION_MS = 600_000;
/** Milliseconds for which the detected protocol revision of a server is reused. */
export const VERDICT_MS = 86_400_000;

/** Maximum bytes of all responses on one connection to a server, for a call and for listing tools. */
export const MAX_CALL_BYTES = 4 * 1024 * 1024;
export const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Maximum bytes of all responses during discovery, registration and token requests. */
export const MAX_OAUTH_BYTES = 256 * 1024;
/** Maximum pages of a list of tools. */
export const MAX_LIST_PAGES = 20;

/** Maximum number of images of one result that are stored. */
export const MAX_RESULT_IMAGES = 8;

export const MAX_SCHEMA_BYTES = 64 * 1024;
export const MAX_SCHEMA_DEPTH = 16;
/** Maximum bytes of the schemas and descriptions of one server's tools together. */
export const MAX_TOOLS_BYTES = 512 * 1024;
/** Maximum characters of a description for models. */
export const MAX_DESCRIPTION = 1_024;
/** Maximum characters of a tool's name that models accept. */
export const MAX_TOOL_NAME = 64;
/** Maximum characters of a name that a server gives to a tool. */
export const MAX_SERVER_TOOL_NAME = 128;

/** Maximum number of times that a server may ask during one call. */
export const MAX_ROUNDS = 10;
export const MAX_REQUEST_STATE_BYTES = 64 * 1024;
/** Maximum bytes of a modern server's self-description that are stored. */
export const MAX_DISCOVER_BYTES = 64 * 1024;
/** Maximum characters of an error that the owner is shown. */
export const MAX_ERROR = 500;

/** Bounds for how long a list of tools is fresh; within them the server decides. */
export const MIN_LIST_TTL_MS = 60_000;
export const MAX_LIST_TTL_MS = 3_600_000;

/** Milliseconds after which a registration at an authorization server is replaced. */
export const CLIENT_MS = 90 * 24 * 3600 * 1000;
