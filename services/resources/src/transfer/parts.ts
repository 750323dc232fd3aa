import type { CommentParts } from '../comments/parts.js';
import type { FormParts } from '../forms/parts.js';
import type { PublicationParts } from '../publications/parts.js';

/** Holds what exports and imports depend on. */
export interface TransferParts extends FormParts, CommentParts, Pick<PublicationParts, 'publications'> {}
