import type { CallContext } from '@commonplace/kit/rpc';
import { isLongerThan } from '@commonplace/kit/words';
import type { ImportItem } from '@commonplace/proto/resources/v1/tree_import_service.js';
import type { AccessSubject } from '../../policy.js';
import { foldTag, MAX_TAGS_PER_RESOURCE } from '../../tags/rules.js';
import { findOrMakeTags, tagReferences } from '../../tags/wanted-tags.js';
import type { TransferParts } from '../parts.js';
import { refusalIn } from './refusals.js';

/** Maximum length of a tag's name in code points. */
const MAX_NAME_CHARS = 64;

export interface TagIds {
  /** Returns the ids of an item's tags, and adds a warning for each name that is left out. */
  of(names: readonly string[], warnings: string[]): string[];
}

/**
 * Returns the tags that items name, and creates missing ones. If they cannot be created, for example at the limit,
 * items are imported without them.
 */
export async function tagsOfItems(
  parts: TransferParts,
  items: readonly ImportItem[],
  workspaceId: string,
  subject: AccessSubject,
  context: CallContext,
): Promise<TagIds> {
  const names = [...new Set(items.flatMap(({ tags }) => tags.map(cleaned)))].filter(isName);
  const known = new Map<string, string>();
  let refusal: string | undefined;
  const tenant = subject.person.workspaces.get(workspaceId)?.orgId || workspaceId;
  try {
    const references = tagReferences('tags', names, 'name');
    const { tags } = await findOrMakeTags(parts, { workspaceId, tenant }, references, subject, context);
    for (const { id, nameFold } of tags) known.set(nameFold, id);
  } catch (error) {
    refusal = refusalIn(error)?.message;
    if (refusal === undefined) throw error;
    for (const [fold, { id }] of await parts.tags.named(workspaceId, names)) known.set(fold, id);
  }
  return {
    of(wanted, warnings) {
      const ids = new Set<string>();
      for (const name of wanted) {
        const id = known.get(foldTag(cleaned(name)));
        if (id === undefined) warnings.push(`The tag ${JSON.stringify(name)} was left out. ${refusal ?? ''}`.trim());
        else if (ids.size < MAX_TAGS_PER_RESOURCE) ids.add(id);
        else if (!ids.has(id)) warnings.push(`A resource may have at most ${MAX_TAGS_PER_RESOURCE} tags.`);
      }
      return [...ids];
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a name has none of
const cleaned = (name: string): string => name.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();

function isName(name: string): boolean {
  return name !== '' && !isLongerThan(name, MAX_NAME_CHARS);
}
