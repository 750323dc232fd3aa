/** A rate limit: so many requests in a window, for each credential; undefined for no limit. */
export type Policies = Readonly<Record<PolicyName, number | undefined>>;

/** Requests a minute, unless the operator says otherwise (api: 1.6). */
const DEFAULTS = {
  default: 3000,
  write: 1200,
  search: 600,
  ai: 60,
  upload: 300,
  /** Submissions of one form by people without an account. */
  form: 60,
  /** Submissions of one address without an account. */
  visitor: 20,
  /** Searches of one address in publications. */
  reader: 120,
  /** Deliveries of other systems to one address of ours. */
  hook: 120,
  /** Failed authentications by one address. */
  auth: 20,
  /** Requests of one credential at the same time. */
  concurrent: 50,
} as const;

export type PolicyName = keyof typeof DEFAULTS;

export const WINDOW_SECONDS = 60;

/** Reads `off`, or a list like `search=off,write=6000`; what is not named keeps its default. */
export function parseRateLimits(value: string): Policies {
  const policies: Record<PolicyName, number | undefined> = { ...DEFAULTS };
  const names = Object.keys(DEFAULTS) as PolicyName[];
  if (value.trim() === 'off') {
    for (const name of names) policies[name] = undefined;
    return policies;
  }
  for (const entry of value.split(',').filter((part) => part.trim() !== '')) {
    const [name = '', limit = ''] = entry.split('=').map((part) => part.trim());
    const known = names.find((one) => one === name);
    if (known === undefined) throw new Error(`must name policies out of ${names.join(', ')}`);
    policies[known] = limit === 'off' ? undefined : requests(limit);
  }
  return policies;
}

function requests(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error("must give 'off' or a whole number of requests");
  return number;
}
