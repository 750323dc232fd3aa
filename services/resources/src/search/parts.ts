import type { CommentParts } from '../comments/parts.js';
import type { Deriver } from '../documents/kind/deriver.js';
import type { NamelessDocuments } from '../documents/kind/nameless.js';
import type { FormStores } from '../forms/records.js';
import type { TreeParts } from '../tree/parts.js';

/** Dependencies of the handlers that the search service calls. */
export interface SearchParts extends TreeParts, CommentParts {
  readonly deriver: Deriver;
  readonly nameless: NamelessDocuments;
  readonly forms: Pick<FormStores, 'forms'>;
}
