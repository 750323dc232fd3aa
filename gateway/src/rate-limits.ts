/** Rate limits by policy: requests in a window for each credential; undefined means no limit. */
export type Policies = Readonly<Record<PolicyName, number | undefined>>;

/** Default limits in requests per minute (api: 1.6). Operators can configure others. */
const DEFAULTS = {
  default: 3000,
  write: 1200,
  search: 600,
  ai: 60,
  upload: 300,
  /** Submissions to one form by people without an account. */
  form: 60,
  /** Submissions from one network without an account. */
  visitor: 20,
  /** Searches from one network in publications. */
  reader: 120,
  /** Deliveries by other systems to one of our webhook addresses. */
  hook: 120,
  /** Failed authentications from one network. */
  auth: 20,
  /** Concurrent requests of one credential. */
  concurrent: 50,
  /** Open event streams of one credential. They do not count as `concurrent`. */
  streams: 20,
  /** Open event streams of one tenant. */
  tenant_streams: 500,
  /** Requests of one tenant that wait for others of it to end, because the process is busy. */
  tenant_waiting: 200,
} as const;

export type PolicyName = keyof typeof DEFAULTS;

export const POLICY_NAMES = Object.keys(DEFAULTS) as readonly PolicyName[];

export const WINDOW_SECONDS = 60;

/** Policies without a window, which limit what is in progress or open at a time. */
export const CONCURRENCY_POLICIES: ReadonlySet<PolicyName> = new Set([
  'concurrent',
  'streams',
  'tenant_streams',
  'tenant_waiting',
]);

/** Parses `off`, or a list like `search=off,write=6000`. Policies that are not named keep their defaults. */
export function parseRateLimits(value: string): Policies {
  const policies: Record<PolicyName, number | undefined> = { ...DEFAULTS };
  if (value.trim() === 'off') {
    for (const name of POLICY_NAMES) policies[name] = undefined;
    return policies;
  }
  for (const entry of value.split(',').filter((part) => part.trim() !== '')) {
    const [name = '', limit = ''] = entry.split('=').map((part) => part.trim());
    const known = POLICY_NAMES.find((one) => one === name);
    if (known === undefined) throw new Error(`must name policies out of ${POLICY_NAMES.join(', ')}`);
    policies[known] = limit === 'off' ? undefined : requests(limit);
  }
  return policies;
}

function requests(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error("must give 'off' or a whole number of requests");
  return number;
}
