import type { ResourceType } from '@commonplace/proto/resources/v1/resource.js';

/** A part of an entry that can be searched separately. */
export type Field = 'name' | 'text' | 'comments';

/** Fields that are searched by default. */
export const USUAL_FIELDS: readonly Field[] = ['name', 'text'];

export type FacetName = 'type' | 'workspace' | 'tag' | 'created_by';

/** Restricts a search by other properties than words; an absent field restricts nothing. */
export interface Narrowing {
  readonly types?: readonly ResourceType[];
  readonly excludedTypes?: readonly ResourceType[];
  /** Admits only descendants of this resource. */
  readonly parentId?: string;
  /** Ids of actors, any of which may match. */
  readonly createdBy?: readonly string[];
  readonly updatedAfter?: string;
  readonly updatedBefore?: string;
  /** Values of the metadata, all of which must match. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
  /** Lists of tags; an entry must have at least one tag of each list. */
  readonly tags?: readonly (readonly string[])[];
  readonly excludedTags?: readonly string[];
  /** Admits only these entries. */
  readonly ids?: readonly string[];
}
