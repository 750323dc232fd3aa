import type { LoadClass } from './shedding.js';

/** Named like reads, and leave something: what was opened is added up, and tries of a password are counted. */
const COUNTING: ReadonlySet<string> = new Set(['CountViews', 'CheckPublicationPassword']);

/** Whether a method changes nothing and may be asked twice, told by the first word of its name. */
export function isRead(method: string): boolean {
  return (
    /^(Get|List|Find|Check|LookUp|Search|Stream|Count|Sum|Read|Describe)(?![a-z])/.test(method) && !COUNTING.has(method)
  );
}

/** How urgent a call is, by its full path: what lets others in goes with what they read. */
export function loadOf(path: string, background: boolean): LoadClass {
  if (background) return 'background';
  const [, service = '', method = ''] = path.split('/');
  if (method === 'Search') return 'background';
  return isRead(method) || service.endsWith('.AuthService') ? 'read' : 'write';
}
