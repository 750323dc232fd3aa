import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { MAX_COMMENT_CHARS } from './port.js';

/** Joins the comments of an entry into one text. */
export function commentsText({ comments }: IndexEntry): string {
  return comments.length === 0 ? '' : comments.join('\n\n').slice(0, MAX_COMMENT_CHARS);
}
