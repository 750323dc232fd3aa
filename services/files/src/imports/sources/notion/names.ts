import { UUID_PATTERN } from '@commonplace/kit/id';
import { oneLine } from '../common/text.js';

/** Names of folders that an export adds around its content. */
const LAYER =
  /^(?:Export(?:Block)?-[0-9a-f]{8}-[0-9a-f-]{27}.*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}(?:_Export.*)?|(?:.*-)?Part-\d+(?:\.zip)?)$/i;

/** Returns an entry's path in the exported workspace, without the folders that the export adds. */
export function logicalPath(path: string): string {
  const parts = path.split('/');
  while (parts.length > 1 && LAYER.test(parts[0] ?? '')) parts.shift();
  return parts.join('/');
}

const DASHED_ID = new RegExp(`(${UUID_PATTERN})[^/]*/?$`, 'i');
const ID = new RegExp(`(?:[0-9a-f]{32}|${UUID_PATTERN})$`, 'i');

/** Splits a file name into title and id. Notion may have truncated the title. */
export function readName(stem: string): { title: string; id?: string } {
  const [id] = ID.exec(stem.slice(-36)) ?? [];
  if (id === undefined) return { title: oneLine(stem) };
  const title = oneLine(stem.slice(0, -id.length)).replace(/[ _-]{1,8}$/, '');
  return { title, id: id.replaceAll('-', '').toLowerCase() };
}

/** Returns the page id in a link. */
export function idIn(href: string): string | undefined {
  const path = href.slice(0, 4096).replace(/[?#].*$/s, '');
  const plain = /([0-9a-f]{32})(?![0-9a-f])[^/]*\/?$/i.exec(path)?.[1];
  const dashed = DASHED_ID.exec(path)?.[1];
  return (plain ?? dashed)?.replaceAll('-', '').toLowerCase();
}

export function calloutKind(icon: string): string {
  if (/[💡✨🌟⭐]/u.test(icon)) return 'tip';
  if (/[⚠🚨🚧]/u.test(icon)) return 'warning';
  if (/[❗‼🔥⛔🛑]/u.test(icon)) return 'important';
  return 'note';
}
