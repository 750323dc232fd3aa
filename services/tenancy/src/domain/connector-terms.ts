import type { Fault } from '@commonplace/kit/errors';

/** A type of connector: the contract's name in lower case. */
export type ConnectorType = 'google_drive' | 'notion' | 'confluence' | 'github' | 'slack' | 's3' | 'http' | 'mcp';
export type AuthType = 'oauth2' | 'api_key' | 'basic' | 'none';

/** The display name of a connector type, and the configuration and credentials that it requires. */
interface Terms {
  readonly name: string;
  readonly needs: readonly string[];
  /** Configuration fields that hold URLs. */
  readonly urls: readonly string[];
  /** Whether the type may be used without credentials. */
  readonly open: boolean;
}

export const TERMS: Readonly<Record<ConnectorType, Terms>> = {
  google_drive: { name: 'Google Drive', needs: [], urls: [], open: false },
  notion: { name: 'Notion', needs: [], urls: [], open: false },
  confluence: { name: 'Confluence', needs: [], urls: ['base_url'], open: false },
  github: { name: 'GitHub', needs: [], urls: ['base_url'], open: false },
  slack: { name: 'Slack', needs: [], urls: [], open: false },
  s3: { name: 'S3', needs: ['bucket'], urls: ['endpoint'], open: false },
  http: { name: 'HTTP', needs: ['url'], urls: ['url'], open: true },
  mcp: { name: 'MCP server', needs: ['url'], urls: ['url'], open: true },
};

/** Fields of credentials that must not be sent in the configuration, which every member of the workspace sees. */
const SECRET_FIELDS = ['api_key', 'token', 'access_token', 'password', 'secret_access_key'];

const MAX_CONFIG_BYTES = 16 * 1024;
const MAX_SECRET_CHARS = 16 * 1024;

type Json = Readonly<Record<string, unknown>>;

/** Parses the JSON object in a field. Returns an empty object if the field is empty. */
export function objectIn(bytes: Buffer): Json {
  return bytes.length === 0 ? {} : (JSON.parse(bytes.toString('utf8')) as Json);
}

/** Returns the faults of a configuration. `refusalOf` returns why a URL may not be called, or undefined if it may. */
export function faultsOfConfig(
  type: ConnectorType,
  config: Json,
  refusalOf: (url: string) => string | undefined,
): Fault[] {
  const { needs, urls } = TERMS[type];
  const faults: Fault[] = [];
  if (Buffer.byteLength(JSON.stringify(config)) > MAX_CONFIG_BYTES) {
    faults.push({
      param: 'config',
      code: 'payload_too_large',
      message: `config may have at most ${MAX_CONFIG_BYTES} bytes.`,
    });
  }
  for (const name of SECRET_FIELDS.filter((one) => config[one] !== undefined)) {
    const message = `config.${name} is a secret: send it in credentials, which are kept encrypted and never shown.`;
    faults.push({ param: `config.${name}`, code: 'invalid_value', message });
  }
  for (const name of needs) {
    const value = config[name];
    if (value === undefined || value === null || value === '') {
      faults.push({ param: `config.${name}`, code: 'missing_field', message: `config.${name} is required.` });
    } else if (typeof value !== 'string') {
      faults.push({ param: `config.${name}`, code: 'invalid_type', message: `config.${name} must be a string.` });
    }
  }
  for (const [param, value] of textsIn(config, 'config')) {
    const isUrl = urls.some((name) => param === `config.${name}`) || /^[a-z][a-z0-9+.-]*:\/\//i.test(value.trim());
    const refusal = isUrl && value !== '' ? refusalOf(value) : undefined;
    if (refusal !== undefined) faults.push({ param, code: 'url_not_allowed', message: refusal });
  }
  return faults;
}

/** Yields every string in free-form JSON with its path. */
function* textsIn(value: unknown, param: string): Iterable<[string, string]> {
  if (typeof value === 'string') yield [param, value];
  else if (Array.isArray(value)) for (const [i, one] of value.entries()) yield* textsIn(one, `${param}[${i}]`);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) yield* textsIn(one, `${param}.${key}`);
  }
}

/** The accepted shapes of credentials: they contain all fields of one shape and no others. */
const SHAPES: readonly {
  readonly auth: AuthType;
  readonly fields: readonly string[];
  readonly only?: ConnectorType;
}[] = [
  { auth: 'api_key', fields: ['api_key'] },
  // The name that the external system uses for it does not matter.
  { auth: 'api_key', fields: ['token'] },
  { auth: 'api_key', fields: ['access_token'] },
  { auth: 'basic', fields: ['username', 'password'] },
  { auth: 'api_key', fields: ['access_key_id', 'secret_access_key'], only: 's3' },
];

/**
 * Returns the authentication type of credentials, or the faults if they match no shape of the type. Faults never
 * contain the values.
 */
export function readCredentials(type: ConnectorType, credentials: Json): { auth: AuthType } | { faults: Fault[] } {
  const given = Object.keys(credentials).sort();
  const shapes = SHAPES.filter(({ only }) => (type === 's3' ? only === 's3' : only === undefined));
  const shape = shapes.find(({ fields }) => [...fields].sort().join() === given.join());
  if (shape === undefined) {
    const choices = shapes.map(({ fields }) => fields.join(' and ')).join(', or ');
    return {
      faults: [{ param: 'credentials', code: 'invalid_value', message: `credentials must contain ${choices}.` }],
    };
  }
  const faults = shape.fields.flatMap((name): Fault[] => {
    const value = credentials[name];
    const param = `credentials.${name}`;
    if (typeof value !== 'string') return [{ param, code: 'invalid_type', message: `${param} must be a string.` }];
    if (value === '') return [{ param, code: 'missing_field', message: `${param} is required.` }];
    if (value.length > MAX_SECRET_CHARS)
      return [{ param, code: 'invalid_value', message: `${param} may have at most ${MAX_SECRET_CHARS} characters.` }];
    return [];
  });
  return faults.length > 0 ? { faults } : { auth: shape.auth };
}
