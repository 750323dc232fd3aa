import { list, url } from '@commonplace/kit/config';

/** Settings of the whole installation that several services read. */
export const PUBLIC_URL = {
  variable: 'COMMONPLACE_PUBLIC_URL',
  help: 'URL that people and clients reach this server by; links to it begin with it',
  parse: url('http', 'https'),
  fallback: 'http://127.0.0.1:8080',
};

export const CONTENT_URL = {
  variable: 'COMMONPLACE_CONTENT_URL',
  help: 'URL of the same server under another host name, only for bytes of users; types that can run scripts are shown only there',
  parse: url('http', 'https'),
  fallback: undefined as string | undefined,
};

const URL_ALLOWLIST = {
  variable: 'COMMONPLACE_URL_ALLOWLIST',
  help: 'hosts that may be fetched over http and at addresses that are not public, such as wiki.intern or *.lab.example; comma-separated',
  parse: list,
  fallback: [] as string[],
};

/** The settings of a service that calls URLs of its users. */
export const OUTGOING_SETTINGS = { publicUrl: PUBLIC_URL, contentUrl: CONTENT_URL, urlAllowlist: URL_ALLOWLIST };
