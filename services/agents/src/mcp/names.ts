import { createHash } from 'node:crypto';
import { MAX_TOOL_NAME } from './limits.js';

const SEPARATOR = '__';
const HASH_DIGITS = 8;
/** The ending of a name with a hash. */
const HASH_ENDING = /_[0-9a-f]{8}$/;

/**
 * Returns the name by which models call a tool: the server's name and the tool's. Models accept only letters, digits,
 * `_` and `-`, and 64 characters. A name that had to be changed, or that a tool of another server could have too, ends
 * with a part of a hash.
 */
export function modelToolName(server: string, tool: string): string {
  const whole = server + SEPARATOR + tool;
  const plain = whole.replace(/[^A-Za-z0-9_-]/g, '_');
  const isSplitAtFirst = whole.indexOf(SEPARATOR) === server.length;
  const isOwn = isSplitAtFirst && !HASH_ENDING.test(whole);
  if (isOwn && plain === whole && whole.length <= MAX_TOOL_NAME) return whole;
  const unique = isSplitAtFirst ? whole : `${server}\n${tool}`;
  const hash = createHash('sha256').update(unique).digest('hex').slice(0, HASH_DIGITS);
  return `${plain.slice(0, MAX_TOOL_NAME - HASH_DIGITS - 1)}_${hash}`;
}

const MAX_SERVER_NAME = 64;

/** Returns the default name of a server: its host without common parts such as `mcp.` and `.com`. */
export function serverNameOf(url: URL): string {
  const labels = url.hostname.replace(/^\[|\]$/g, '').split('.');
  const isAddress = /^[0-9.]+$/.test(url.hostname) || url.hostname.startsWith('[');
  const specific = isAddress ? labels : labels.slice(0, -1).filter((label) => !COMMON.has(label));
  const name = (specific.length > 0 ? specific : labels)
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_SERVER_NAME)
    .replace(/-+$/, '');
  return name === '' ? 'server' : name;
}

const COMMON: ReadonlySet<string> = new Set(['mcp', 'www', 'api']);
