import type { IndexEntry } from '@commonplace/proto/resources/v1/index_service.js';
import { MOST_COMMENTS } from './port.js';

/** Joins the comments of an entry into one text. */
export function commentsText({ comments }: IndexEntry): string {
  return comments.length === 0 ? '' : comments.join('\n\n').slice(0, MOST_COMMENTS);
}
