import { foldName, trimLine } from '@commonplace/kit/words';
import type { TransferParts } from '../parts.js';

/** Maximum length of a name in code points. */
const MAX_NAME_CHARS = 255;
const NAMELESS = 'Untitled';
/** Maximum number of suffixes tried to find a free name. */
const MAX_SUFFIXES = 1000;

/** Returns a valid resource name: `Untitled` for an empty one, and a cut one with a warning if it is too long. */
export function fittingName(name: string, warnings: string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a name has none of
  const line = trimLine(name.replace(/[\u0000-\u001f\u007f]+/g, ' '));
  const points = [...line];
  if (points.length === 0) return NAMELESS;
  if (points.length <= MAX_NAME_CHARS) return line;
  warnings.push(`The name was shortened: it has ${points.length} characters.`);
  return points.slice(0, MAX_NAME_CHARS).join('').trim();
}

/** Returns the name, or the first of `name 2`, `name 3`… that no sibling has. */
export async function freeName(
  parts: TransferParts,
  name: string,
  parentKey: string,
  workspaceId: string,
): Promise<string> {
  const prefix = foldName(name);
  const where = { workspaceId, state: 'active', nameFold: { prefix } } as const;
  const found = await parts.tree.nodes.find({ where, sort: ['nameFold'], limit: MAX_SUFFIXES });
  const taken = new Set(found.filter((node) => node.parentKey === parentKey).map(({ nameFold }) => nameFold));
  if (!taken.has(prefix)) return name;
  for (let number = 2; number < MAX_SUFFIXES; number++) {
    const next = `${[...name].slice(0, MAX_NAME_CHARS - 5).join('')} ${number}`;
    if (!taken.has(foldName(next))) return next;
  }
  return name;
}
