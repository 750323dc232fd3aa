import { isHostOf } from './host.js';

/**
 * Content security policy of a response without its own: a browser that renders the response loads, runs and frames
 * nothing.
 */
export const NOTHING_ALLOWED = "default-src 'none'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/** Seconds for which a browser remembers to use https: a year. */
const HSTS_SECONDS = 31_536_000;

export type SecurityHeaders = readonly (readonly [name: string, value: string])[];

const ALWAYS: SecurityHeaders = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Content-Security-Policy', NOTHING_ALLOWED],
];

/**
 * Returns the headers that each answer starts with; pages replace the policy by their own. The server's hosts include
 * their subdomains in HSTS. A customer's domain does not, since its subdomains belong to the customer.
 */
export function createSecurityHeaders({
  publicUrl,
  contentUrl,
}: {
  readonly publicUrl: string;
  readonly contentUrl: string | undefined;
}): (request?: { readonly host: string }) => SecurityHeaders {
  if (!publicUrl.startsWith('https:')) return () => ALWAYS;
  const hosts = [publicUrl, ...(contentUrl === undefined ? [] : [contentUrl])].map(isHostOf);
  const elsewhere: SecurityHeaders = [...ALWAYS, ['Strict-Transport-Security', `max-age=${HSTS_SECONDS}`]];
  const here: SecurityHeaders = [
    ...ALWAYS,
    ['Strict-Transport-Security', `max-age=${HSTS_SECONDS}; includeSubDomains`],
  ];
  return (request) => (request !== undefined && hosts.some((isHost) => isHost(request)) ? here : elsewhere);
}
